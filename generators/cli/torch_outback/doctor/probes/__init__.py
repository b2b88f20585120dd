"""Programs that processes of their own run, since what they import may crash, hang or print.

They are run by their paths, by a Python whose torch may be broken, and import nothing of ours.
"""
