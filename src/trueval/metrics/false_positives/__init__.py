"""False positives: does the list contain items the user is known to dislike?"""
