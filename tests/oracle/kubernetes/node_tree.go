package main

import (
	"fmt"
	"unsafe"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/scheduler/backend/cache"
)

//go:linkname newNodeTree k8s.io/kubernetes/pkg/scheduler/backend/cache.newNodeTree
func newNodeTree(klog.Logger, []*v1.Node) unsafe.Pointer

//go:linkname addNode k8s.io/kubernetes/pkg/scheduler/backend/cache.(*nodeTree).addNode
func addNode(unsafe.Pointer, klog.Logger, *v1.Node)

//go:linkname removeNode k8s.io/kubernetes/pkg/scheduler/backend/cache.(*nodeTree).removeNode
func removeNode(unsafe.Pointer, klog.Logger, *v1.Node) error

//go:linkname updateNode k8s.io/kubernetes/pkg/scheduler/backend/cache.(*nodeTree).updateNode
func updateNode(tree unsafe.Pointer, logger klog.Logger, old, new *v1.Node)

//go:linkname listNodes k8s.io/kubernetes/pkg/scheduler/backend/cache.(*nodeTree).list
func listNodes(unsafe.Pointer) ([]string, error)

type nodeChange struct {
	Change string            `json:"change"` // add, remove or update
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Old    map[string]string `json:"old"` // labels before an update
}

// nodeTree answers with the list of nodes after each change.
func nodeTree(changes []nodeChange) ([][]string, error) {
	logger := klog.Background()
	tree := newNodeTree(logger, nil)
	lists := [][]string{}
	for _, each := range changes {
		node := labelled(each.Name, each.Labels)
		switch each.Change {
		case "add":
			addNode(tree, logger, node)
		case "remove":
			_ = removeNode(tree, logger, node) // an error where it was not there
		case "update":
			updateNode(tree, logger, labelled(each.Name, each.Old), node)
		default:
			return nil, fmt.Errorf("no change is named %q", each.Change)
		}
		names, err := listNodes(tree)
		if err != nil {
			return nil, err
		}
		lists = append(lists, append([]string{}, names...))
	}
	return lists, nil
}

func labelled(name string, labels map[string]string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}
