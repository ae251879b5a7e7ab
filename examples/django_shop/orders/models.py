"""Orders."""

from django.db import models


class Order(models.Model):
    """An order of the shop."""

    buyer = models.EmailField()
    cents = models.PositiveIntegerField()
    charged = models.BooleanField(default=False)
    mails = models.PositiveIntegerField(default=0)
