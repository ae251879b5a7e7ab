"""Views of the orders."""

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt

from orders.models import Order
from orders.tasks import charge


@csrf_exempt
def place_order(request: HttpRequest) -> JsonResponse:
    with transaction.atomic():
        order = Order.objects.create(buyer=request.POST["buyer"], cents=int(request.POST["cents"]))
        result = charge.enqueue(order.pk)  # commits with the order
    return JsonResponse({"order": order.pk, "task": result.id})
