"""Writes the verdict that `sfstat watch --exec` has on standard input into annotations of a Kubernetes
object, by the service account of the pod. SFSTAT_OBJECT is the path of the object in the API, such as
/apis/batch/v1/namespaces/team/jobs/llm. The same as a line of JSON goes to the log of the container.
"""

import json
import os
import ssl
import sys
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
API = os.environ.get("SFSTAT_API") or "https://{KUBERNETES_SERVICE_HOST}:{KUBERNETES_SERVICE_PORT}".format(**os.environ)

verdict = json.load(sys.stdin)
values = {"status": verdict["status"], "verdict": verdict["headline"]}
print(json.dumps({"sfstat": values}), flush=True)
patch = urllib.request.Request(
    API + os.environ["SFSTAT_OBJECT"],
    method="PATCH",
    data=json.dumps({"metadata": {"annotations": {"sfstat/" + name: value for name, value in values.items()}}}).encode(),
    headers={"Content-Type": "application/merge-patch+json"},
)
secure = None
if API.startswith("https:"):
    secure = ssl.create_default_context(cafile=ACCOUNT + "ca.crt")
    with open(ACCOUNT + "token", encoding="utf-8") as token:
        patch.add_header("Authorization", "Bearer " + token.read())
urllib.request.urlopen(patch, timeout=20, context=secure).close()
