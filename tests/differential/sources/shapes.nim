# Generics, closures, methods.
type
  Shape = ref object of RootObj
    factor: int
  Square = ref object of Shape

var state {.volatile.} = 3

proc clamped[T](value, low, high: T): T =
  if value < low: low
  elif value > high: high
  else: value

proc mix(value: int): int =
  let more = proc (factor: int): int = clamped(value, -1000, 1000) * factor
  more(31) + value div 8

method area(each: Shape, side: int): int {.base.} = mix(side)
method area(each: Square, side: int): int = mix(side) * each.factor

iterator sides(count: int): int =
  for each in 0 ..< count:
    yield each

var sum = 0
let square: Shape = Square(factor: 7)
for side in sides(4 + state):
  sum += square.area(side)
echo sum
