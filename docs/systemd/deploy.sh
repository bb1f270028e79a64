#!/bin/sh
# deploy.sh 43: serves by /srv/orders/43, and then ends what served before.
set -eu
next="orders@$1.service"
before=$(systemctl list-units --plain --no-legend --state=active 'orders@*.service' | cut -d ' ' -f 1)
# Returns when it serves. Where it cannot this fails, and nothing has changed.
if ! systemctl start "$next"; then
  # Or systemd starts it again and again.
  systemctl stop "$next"
  exit 1
fi
ln -sfn "$1" /srv/orders/current
for unit in $before; do
  if [ "$unit" != "$next" ]; then systemctl stop "$unit"; fi
done
