# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lab that scripts/netlab.sh has made around this program."""
import json
import subprocess
import sys


class Lab:
    def __init__(self, netlab, hosts, mpirun_arguments=""):
        self.netlab, self.hosts, self.mpirun_arguments = str(netlab), hosts, mpirun_arguments

    def shape(self, rate):
        done = subprocess.run([self.netlab, "shape", "--rate", rate], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())

    def run_command(self, program):
        """The words that run a program on all hosts."""
        return [self.netlab, "run", "--mpirun-args", self.mpirun_arguments, "--", *map(str, program)]

    def exec_command(self, host, program):
        """The words that run it on one."""
        return [self.netlab, "exec", str(host), "--", *map(str, program)]

    def bytes_sent(self):
        """By the interface of the first host, since the lab is up."""
        done = subprocess.run([self.netlab, "bytes"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)["hosts"][0]["sent"]


def reason(words, code):
    """Why a program failed, in one line: the first that it says itself."""
    lines = [line.strip() for line in words.splitlines()]
    own = [line for line in lines if line and not line.startswith("---") and "plm:rsh: Warning" not in line]
    telling = [line for line in own if "rror" in line or "kadam" in line or "fail" in line or "what()" in line]
    return f"exit code {code}: {(telling or own or ['no words'])[0][:300]}"
