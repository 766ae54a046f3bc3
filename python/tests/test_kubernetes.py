"""The Kubernetes examples: their schemas where kubernetes-validate and kubeflow-trainer-api are
installed, what holds them together where PyYAML is, and the sidecar's command, everywhere.
"""

import http.server
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "examples", "kubernetes")
PROGRAM = os.environ.get("SFSTAT") or shutil.which("sfstat")


def lacks(*modules):
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    return unittest.skipIf(missing, f"NOT RUN: not installed: {', '.join(missing)}")


def documents(name):
    import yaml

    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as f:
        return {d["kind"]: d for d in yaml.safe_load_all(f)}


def pods():
    """Yields the pod of each example, the kind that is annotated, and all documents."""
    job = documents("job.yaml")
    yield job["Job"]["spec"]["template"]["spec"], "Job", job
    train = documents("trainjob.yaml")
    (node,) = train["TrainingRuntime"]["spec"]["template"]["spec"]["replicatedJobs"]
    yield node["template"]["spec"]["template"]["spec"], "TrainJob", train


class KubernetesTest(unittest.TestCase):
    @lacks("yaml", "kubernetes_validate")
    def test_schemas(self):
        import kubernetes_validate

        for name in ("job.yaml", "trainjob.yaml"):
            for kind, document in documents(name).items():
                if not document["apiVersion"].startswith("trainer."):
                    with self.subTest(name, kind=kind):
                        kubernetes_validate.validate(document, "1.29", strict=True)

    @lacks("yaml", "kubernetes_validate", "kubeflow_trainer_api")
    def test_schemas_of_trainer(self):
        import kubernetes_validate
        from kubeflow_trainer_api import models

        train = documents("trainjob.yaml")
        for kind, model in (("TrainingRuntime", models.TrainerV1alpha1TrainingRuntime), ("TrainJob", models.TrainerV1alpha1TrainJob)):
            read = model.from_dict(train[kind]).to_dict()
            self.assertEqual(read, train[kind], "a field is not known")
        (pod,) = [pod for pod, kind, _ in pods() if kind == "TrainJob"]
        kubernetes_validate.validate({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": pod}, "1.29", strict=True)

    @lacks("yaml")
    def test_parts_fit(self):
        for pod, kind, all_of in pods():
            with self.subTest(kind):
                (sidecar,), (train,) = pod["initContainers"], pod["containers"]
                self.assertEqual(sidecar["restartPolicy"], "Always", "it would end before the training begins")
                volumes = {v["name"] for v in pod["volumes"]}
                for container in (sidecar, train):
                    self.assertLessEqual({m["name"] for m in container["volumeMounts"]}, volumes)
                self.assertIn(train["volumeMounts"][0], sidecar["volumeMounts"])
                written = re.search(r"-o (\S+)", " ".join(train["command"] + train.get("args", []))).group(1)
                self.assertIn(f"sfstat watch {written} ", sidecar["args"][0])
                (rule,) = all_of["Role"]["rules"]
                group, plural = all_of[kind]["apiVersion"].split("/")[0], kind.lower() + "s"
                name = all_of[kind]["metadata"]["name"]
                self.assertEqual((rule["apiGroups"], rule["resources"], rule["resourceNames"], rule["verbs"]), ([group], [plural], [name], ["patch"]))
                self.assertEqual(sidecar["env"][0]["value"], f"/apis/{all_of[kind]['apiVersion']}/namespaces/default/{plural}/{name}")
                self.assertEqual(pod["serviceAccountName"], all_of["RoleBinding"]["subjects"][0]["name"])

    @unittest.skipIf(PROGRAM is None, "NOT RUN: no sfstat: make build")
    def test_the_sidecar_annotates(self):
        patches = []

        class API(http.server.BaseHTTPRequestHandler):
            def do_PATCH(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                patches.append((self.path, self.headers["Content-Type"], json.loads(body)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), API)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with open(os.path.join(EXAMPLES, "job.yaml"), encoding="utf-8") as f:
            text = f.read()
        command = re.search(r"exec (sfstat watch .*)", text).group(1)
        path = re.search(r"value: (/apis/\S+)", text).group(1)
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(ROOT, "fixtures", "ddp", "host-callback-r8-s0.jsonl"), folder)
            command = command.replace("sfstat", f'"{PROGRAM}"', 1).replace("/runs/llm", folder).replace("/etc/sfstat", EXAMPLES).replace("python ", f"{sys.executable} ")
            environment = dict(os.environ, SFSTAT_API=f"http://127.0.0.1:{server.server_port}", SFSTAT_OBJECT=path)
            done = subprocess.run(["sh", "-c", command + " --every 50ms --idle 200ms"], env=environment, capture_output=True, encoding="utf-8", timeout=120)
        server.shutdown()
        server.server_close()
        self.assertEqual(done.returncode, 0, done.stderr)
        (patch,) = patches
        self.assertEqual(patch[:2], ("/apis/batch/v1/namespaces/default/jobs/llm", "application/merge-patch+json"))
        annotations = patch[2]["metadata"]["annotations"]
        self.assertEqual(annotations["sfstat/status"], "straggler")
        self.assertIn("Rank 2 (node0, local rank 2) delays everyone in callbacks", annotations["sfstat/verdict"])
        self.assertIn({"sfstat": {"status": "straggler", "verdict": annotations["sfstat/verdict"]}}, [json.loads(x) for x in done.stdout.splitlines() if x.startswith("{")])


if __name__ == "__main__":
    unittest.main()
