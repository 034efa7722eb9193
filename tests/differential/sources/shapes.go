// Methods, closures, an interface and a panic that is caught.
package main

import "os"

var state = 3

type shape interface{ area(side int) int }

type square struct{ factor int }

func (each square) area(side int) int { return mix(side) * each.factor }

func clamp(value, low, high int) int {
	if value < low {
		return low
	}
	if value > high {
		return high
	}
	return value
}

func mix(value int) int {
	more := func(factor int) int { return clamp(value, -1000, 1000) * factor }
	return more(31) + value>>3
}

//go:noinline
func guarded(each shape, values []int) (sum int) {
	defer func() {
		if recover() != nil {
			sum -= state
		}
	}()
	for at := 0; at <= len(values); at++ {
		sum += each.area(values[at])
	}
	return sum
}

func main() {
	sum := guarded(square{7}, []int{1, 2, state})
	os.Stdout.WriteString(string(rune('a'+sum&7)) + "\n")
}
