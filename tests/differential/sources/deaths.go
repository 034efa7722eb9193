// Ways to die, each at the end of a chain of calls: deaths WAY.
package main

import (
	"os"
	"sort"
	"sync"
)

//go:noinline
func leaf(p *int) int { return *p + 1 }

//go:noinline
func work(way string) int {
	switch way {
	case "leaf":
		return leaf(nil) + 1
	case "panic":
		panic("no")
	case "deferred":
		defer func() { leaf(nil) }()
	case "callback":
		sort.Slice([]int{1, 2, 3}, func(a, b int) bool { return leaf(nil) < a })
	case "goroutine":
		var group sync.WaitGroup
		group.Add(1)
		go func() {
			defer group.Done()
			leaf(nil)
		}()
		group.Wait()
	}
	return 0
}

//go:noinline
func outer(way string) int { return work(way) + 1 }

func main() { os.Exit(outer(os.Args[1])) }
