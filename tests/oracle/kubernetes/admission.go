package main

import (
	"fmt"

	cadvisor "github.com/google/cadvisor/info/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

type admissionQuestion struct {
	CPUs            []cpu             `json:"cpus"`
	Memory          map[int]bytes     `json:"memory"` // by NUMA node; empty without the memory manager
	Distances       map[int][]uint64  `json:"distances"`
	Reserved        []int             `json:"reserved"`
	Held            []int             `json:"held"` // CPUs that another pod has
	Policy          string            `json:"policy"`
	Scope           string            `json:"scope"`
	TopologyOptions map[string]string `json:"topologyOptions"`
	CPUOptions      map[string]string `json:"cpuOptions"`
	Pods            [][]request       `json:"pods"` // of each its containers, init containers first
}

type cpu struct {
	CPU    int `json:"cpu"`
	Core   int `json:"core"` // the lowest of its CPUs, as the kubelet names cores
	Socket int `json:"socket"`
	NUMA   int `json:"numa"`
}

type bytes struct {
	Total    uint64 `json:"total"`
	Reserved uint64 `json:"reserved"`
}

type request struct {
	CPU     string `json:"cpu"`
	Memory  string `json:"memory"`
	Init    bool   `json:"init"`
	Sidecar bool   `json:"sidecar"` // an init container that lasts
}

type admitted struct {
	Admit   bool   `json:"admit"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// By container, in the order of the pod, where it was admitted.
	CPUSets []string `json:"cpusets"`
	// What the memory manager keeps of each NUMA node, where it was admitted.
	Memory map[int]memoryNode `json:"memory"`
}

type memoryNode struct {
	Assignments int    `json:"assignments"`
	Cells       []int  `json:"cells"`
	Free        uint64 `json:"free"`
}

type admissionAnswer struct {
	Error string     `json:"error"` // the kubelet does not start with these settings
	Pods  []admitted `json:"pods"`
}

func init() {
	// align-by-socket and others are alpha.
	err := utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{"CPUManagerPolicyAlphaOptions": true})
	if err != nil {
		panic(err)
	}
}

// admission answers with what the managers of a kubelet's containers make of one pod after the other.
func admission(asked admissionQuestion) (admissionAnswer, error) {
	machine := asked.nodes()
	manager, err := topologymanager.NewManager(machine, asked.Policy, asked.Scope, asked.TopologyOptions)
	if err != nil {
		return admissionAnswer{Error: err.Error()}, nil
	}
	logger := klog.Background()
	cpus, err := newCPUs(asked, manager)
	if err != nil {
		return admissionAnswer{Error: err.Error()}, nil
	}
	manager.AddHintProvider(logger, cpus)
	var memory *memoryProvider
	if len(asked.Memory) > 0 {
		if memory, err = newMemory(asked, machine, manager); err != nil {
			return admissionAnswer{Error: err.Error()}, nil
		}
		manager.AddHintProvider(logger, memory)
	}
	answer := admissionAnswer{Pods: []admitted{}}
	for number, containers := range asked.Pods {
		pod := guaranteedPod(number, containers)
		result := manager.Admit(&lifecycle.PodAdmitAttributes{Pod: pod})
		one := admitted{Admit: result.Admit, Reason: result.Reason, Message: result.Message, CPUSets: []string{}}
		for _, container := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
			if !result.Admit {
				cpus.remove(pod, container)
				memory.remove(pod, container)
				continue
			}
			set, _ := cpus.state.GetCPUSet(string(pod.UID), container.Name)
			one.CPUSets = append(one.CPUSets, set.String())
		}
		if result.Admit {
			// What an init container held and no later one took over is free once it has ended.
			for _, container := range pod.Spec.InitContainers {
				if container.RestartPolicy != nil {
					continue
				}
				cpus.remove(pod, container)
				memory.remove(pod, container)
			}
			one.Memory = memory.machine()
		}
		answer.Pods = append(answer.Pods, one)
	}
	return answer, nil
}

func (q admissionQuestion) nodes() []cadvisor.Node {
	found := map[int]bool{}
	nodes := []cadvisor.Node{}
	for _, each := range q.CPUs {
		if !found[each.NUMA] {
			found[each.NUMA] = true
			nodes = append(nodes, cadvisor.Node{
				Id: each.NUMA, Memory: q.Memory[each.NUMA].Total, Distances: q.Distances[each.NUMA],
			})
		}
	}
	return nodes
}

func guaranteedPod(number int, containers []request) *v1.Pod {
	name := fmt.Sprintf("p%d", number)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)}}
	for index, each := range containers {
		amounts := v1.ResourceList{
			v1.ResourceCPU:    resource.MustParse(each.CPU),
			v1.ResourceMemory: resource.MustParse(each.Memory),
		}
		container := v1.Container{
			Name:      fmt.Sprintf("c%d", index),
			Resources: v1.ResourceRequirements{Requests: amounts, Limits: amounts},
		}
		if each.Sidecar {
			always := v1.ContainerRestartPolicyAlways
			container.RestartPolicy = &always
		}
		if each.Init {
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, container)
		} else {
			pod.Spec.Containers = append(pod.Spec.Containers, container)
		}
	}
	return pod
}

type cpuProvider struct {
	policy cpumanager.Policy
	state  cpustate.State
}

func newCPUs(asked admissionQuestion, store topologymanager.Store) (*cpuProvider, error) {
	details := topology.CPUDetails{}
	cores, sockets, nodes := map[int]bool{}, map[int]bool{}, map[int]bool{}
	for _, each := range asked.CPUs {
		details[each.CPU] = topology.CPUInfo{
			NUMANodeID: each.NUMA, SocketID: each.Socket, CoreID: each.Core, UncoreCacheID: each.Socket,
		}
		cores[each.Core], sockets[each.Socket], nodes[each.NUMA] = true, true, true
	}
	machine := &topology.CPUTopology{
		NumCPUs: len(details), NumCores: len(cores), NumSockets: len(sockets), NumNUMANodes: len(nodes),
		NumUncoreCache: len(sockets), CPUDetails: details,
	}
	logger := klog.Background()
	reserved := cpuset.New(asked.Reserved...)
	policy, err := cpumanager.NewStaticPolicy(logger, machine, reserved.Size(), reserved, store, asked.CPUOptions)
	if err != nil {
		return nil, err
	}
	state := cpustate.NewMemoryState(logger)
	held := cpuset.New(asked.Held...)
	state.SetDefaultCPUSet(details.CPUs().Difference(held))
	if held.Size() > 0 {
		state.SetCPUSet("held", "c", held)
	}
	return &cpuProvider{policy, state}, policy.Start(logger, state)
}

func (p *cpuProvider) GetTopologyHints(pod *v1.Pod, container *v1.Container) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(klog.Background(), p.state, pod, container)
}

func (p *cpuProvider) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(klog.Background(), p.state, pod)
}

func (p *cpuProvider) AllocatePod(pod *v1.Pod) error {
	return p.policy.AllocatePod(klog.Background(), p.state, pod)
}

func (p *cpuProvider) Allocate(pod *v1.Pod, container *v1.Container) error {
	return p.policy.Allocate(klog.Background(), p.state, pod, container)
}

func (p *cpuProvider) remove(pod *v1.Pod, container v1.Container) {
	_ = p.policy.RemoveContainer(klog.Background(), p.state, string(pod.UID), container.Name)
}

type memoryProvider struct {
	policy memorymanager.Policy
	state  memorystate.State
}

func newMemory(
	asked admissionQuestion, nodes []cadvisor.Node, store topologymanager.Store,
) (*memoryProvider, error) {
	reserved := map[int]map[v1.ResourceName]uint64{}
	for numa, each := range asked.Memory {
		reserved[numa] = map[v1.ResourceName]uint64{v1.ResourceMemory: each.Reserved}
	}
	logger := klog.Background()
	machine := &cadvisor.MachineInfo{Topology: nodes}
	policy, err := memorymanager.NewPolicyStatic(logger, machine, reserved, store)
	if err != nil {
		return nil, err
	}
	state := memorystate.NewMemoryState(logger)
	return &memoryProvider{policy, state}, policy.Start(logger, state)
}

func (p *memoryProvider) GetTopologyHints(
	pod *v1.Pod, container *v1.Container,
) map[string][]topologymanager.TopologyHint {
	return p.policy.GetTopologyHints(klog.Background(), p.state, pod, container)
}

func (p *memoryProvider) GetPodTopologyHints(pod *v1.Pod) map[string][]topologymanager.TopologyHint {
	return p.policy.GetPodTopologyHints(klog.Background(), p.state, pod)
}

func (p *memoryProvider) AllocatePod(pod *v1.Pod) error {
	return p.policy.AllocatePod(klog.Background(), p.state, pod)
}

func (p *memoryProvider) Allocate(pod *v1.Pod, container *v1.Container) error {
	return p.policy.Allocate(klog.Background(), p.state, pod, container)
}

func (p *memoryProvider) remove(pod *v1.Pod, container v1.Container) {
	if p != nil {
		p.policy.RemoveContainer(klog.Background(), p.state, string(pod.UID), container.Name)
	}
}

func (p *memoryProvider) machine() map[int]memoryNode {
	nodes := map[int]memoryNode{}
	if p != nil {
		for numa, each := range p.state.GetMachineState() {
			nodes[numa] = memoryNode{each.NumberOfAssignments, each.Cells, each.MemoryMap[v1.ResourceMemory].Free}
		}
	}
	return nodes
}
