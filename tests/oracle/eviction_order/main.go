// The kubelet's own order of eviction. A line of JSON in: a signal, how the node's file systems are laid out, pods and
// their statistics, as the API and /stats/summary have them. A line out: the names of the pods, first to go first.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	_ "unsafe" // for go:linkname

	v1 "k8s.io/api/core/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	_ "k8s.io/kubernetes/pkg/kubelet/eviction"
	eviction "k8s.io/kubernetes/pkg/kubelet/eviction/api"
)

type statsFunc = func(pod *v1.Pod) (stats.PodStats, bool)

//go:linkname buildSignalToRankFunc k8s.io/kubernetes/pkg/kubelet/eviction.buildSignalToRankFunc
func buildSignalToRankFunc(withImageFs, imageContainerSplitFs bool) map[eviction.Signal]func([]*v1.Pod, statsFunc)

type question struct {
	Signal  eviction.Signal  `json:"signal"`
	ImageFs bool             `json:"imageFs"`
	Split   bool             `json:"split"`
	Pods    []*v1.Pod        `json:"pods"`
	Stats   []stats.PodStats `json:"stats"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		names, err := ordered(lines.Bytes())
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(string(names))
	}
}

func ordered(line []byte) ([]byte, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	measured := map[string]stats.PodStats{}
	for _, each := range asked.Stats {
		measured[each.PodRef.UID] = each
	}
	rank, known := buildSignalToRankFunc(asked.ImageFs, asked.Split)[asked.Signal]
	if !known {
		return nil, fmt.Errorf("no ranking for %q", asked.Signal)
	}
	rank(asked.Pods, func(pod *v1.Pod) (stats.PodStats, bool) {
		found, ok := measured[string(pod.UID)]
		return found, ok
	})
	names := []string{}
	for _, pod := range asked.Pods {
		names = append(names, pod.Name)
	}
	return json.Marshal(names)
}
