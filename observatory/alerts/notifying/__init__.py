"""Sends notifications about alerts: routing.py selects channels, delivery.py sends, channels/ has the
kinds."""
