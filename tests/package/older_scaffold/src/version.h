// Which version this is.
#pragma once

#define ACME_VERSION "0.1.0"
