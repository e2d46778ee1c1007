"""Is an unknown substance noticed?"""
