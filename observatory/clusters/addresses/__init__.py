"""Addresses: of targets, of clients, and of Observatory's own pages."""
