#!/bin/sh
# An agent that is four lines of curl: it knows a base address and nothing of authorization.
call() {
  curl -sS "$SVC_PEP_URL/$1" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
    -d "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", \"params\": {\"name\": \"$2\", \"arguments\": $3}}" | sed 's/^data: //' | grep '^{'
}
call calendar list_events '{"day": "Monday"}'
call mail send_mail '{"to": "bob@example.com", "body": "See you at 12:30."}'
