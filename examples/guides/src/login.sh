#!/bin/sh
# login.sh https://localhost:4433: signs in by curl, and calls with the token by curl and by quicrpc.
set -eu
ca=$(npx quicrpc cert --json | sed 's/.*"file": *"\([^"]*\)".*/\1/') # the development certificate
json='content-type: application/json'

token=$(curl -sSf --cacert "$ca" "$1/auth.v1.Auth/login" -H "$json" -d '{"name":"ann","password":"secret"}' | cut -d '"' -f 4)
curl -sSf --cacert "$ca" "$1/shop.v1.Orders/cancel" -H "$json" -H "authorization: Bearer $token" -d '{"id":"1"}'

export SHOP_TOKEN="$token"
npx quicrpc ls "$1/rpc" --credentials-from SHOP_TOKEN --dev # reflection requires authentication
npx quicrpc call "$1/rpc" shop.v1.Orders/cancel '{"id":"1"}' --credentials-from SHOP_TOKEN --dev
