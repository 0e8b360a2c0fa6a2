"""What the house promises about itself: who imports what and when, and how its sources look."""
