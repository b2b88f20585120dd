// The program that precompiled headers of the tests belong to.
int main() {}
