#!/bin/sh
# Writes `.env` beside this file from `.env.example`, with a random value for each empty one.
set -eu
cd "$(dirname "$0")"
umask 077
if [ -e .env ]; then
  echo ".env is there: edit it, or move it away first; the database keeps the passwords that it was made with." >&2
  exit 1
fi
while IFS= read -r line; do
  case $line in
    SVC_KEY_ENCRYPTION_KEY=) printf '%s%s\n' "$line" "$(openssl rand -base64 32)" ;;
    *_PASSWORD=) printf '%s%s\n' "$line" "$(openssl rand -hex 24)" ;;
    [A-Z]*=) printf '%s%s\n' "$line" "$(openssl rand -hex 32)" ;;
    *) printf '%s\n' "$line" ;;
  esac
done < .env.example > .env
