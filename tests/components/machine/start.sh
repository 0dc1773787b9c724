#!/bin/busybox sh
# The first process of a virtual machine: a node with cgroups of version 2, PSI and swap, and nothing else.
/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/root
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
hostname "$(cat /etc/hostname)"
ifconfig lo 127.0.0.1 up
ifconfig eth0 10.0.2.15 netmask 255.255.255.0 up
route add default gw 10.0.2.2
mkswap /dev/vdb >/dev/null && swapon /dev/vdb

# commands from outside; it reads as ended while nobody is connected
exec 3<>"$(echo /dev/vport*p1)"
while true; do cat <&3; sleep 1; done | sh >&3 2>/dev/null &

containerd --config /etc/containerd.toml >/var/log/containerd.log 2>&1 &
until ctr -a /run/containerd/containerd.sock version >/dev/null 2>&1; do sleep 1; done
ctr -a /run/containerd/containerd.sock -n k8s.io images import /worker.tar
kubelet --config=/etc/kubelet.json --kubeconfig=/etc/kubeconfig --hostname-override="$(hostname)" >/var/log/kubelet.log 2>&1
echo "the kubelet ended"
tail -n 20 /var/log/containerd.log /var/log/kubelet.log
poweroff -f
