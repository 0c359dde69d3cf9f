"""What the migrations made. Nothing here uses the store's code of today."""
