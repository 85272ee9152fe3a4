"""What the files are: checks of pictures and archives, conversion of animations, text of novels.

Nothing here talks to the network. Importing the package is cheap; Pillow is loaded by the functions that decode.
"""
