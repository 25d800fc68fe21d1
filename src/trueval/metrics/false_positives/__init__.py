"""False positives: does the list hold items the user is known to dislike?"""
