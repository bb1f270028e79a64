# Calls the shop at a URL by the client that openapi-python-client has made, and prints what came of it as JSON.
import datetime
import json
import sys

from shop_client import Client
from shop_client.api.shop_v_1_shop import shop_add, shop_buy, shop_categories, shop_get
from shop_client.models import (
    ShopBuyInput,
    ShopBuyInputPaymentType1,
    ShopCategoriesBody,
    ShopGetInput,
)

with Client(base_url=sys.argv[1]) as client:
    article = shop_get.sync(client=client, body=ShopGetInput(id="7"))
    added = shop_add.sync(client=client, body=article)
    gone = shop_get.sync(client=client, body=ShopGetInput(id="1"))
    due = datetime.datetime(2026, 1, 31, tzinfo=datetime.timezone.utc)
    invoice = ShopBuyInputPaymentType1(by="invoice", due=due)
    bought = shop_buy.sync(client=client, body=ShopBuyInput(id="7", payment=invoice))
    category = shop_categories.sync(client=client, body=ShopCategoriesBody())
    detail = gone.details[0].debug
    print(
        json.dumps(
            {
                "id": article.id,
                "listed_at": article.listed_at.isoformat(),
                "stock": article.stock.additional_properties,
                "kind": article.kind,
                "sameAfterAdd": added.to_dict() == article.to_dict(),
                "error": {"code": gone.code, "reason": detail.reason, "since": detail.details.since.isoformat()},
                "total": bought.total,
                "categories": category.parts[0].name,
            }
        )
    )
