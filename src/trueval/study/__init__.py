"""User studies: do people agree with the numbers?"""
