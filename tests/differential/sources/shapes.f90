! Module procedures, an internal procedure and recursion.
module shapes
  implicit none
  integer, volatile :: state = 3
contains
  pure integer function clamp(value, low, high)
    integer, intent(in) :: value, low, high
    clamp = min(max(value, low), high)
  end function clamp

  integer function mixed(value)
    integer, intent(in) :: value
    mixed = clamp(value, -1000, 1000) * 31 + value / 8
  contains
    integer function inner(more)
      integer, intent(in) :: more
      inner = more * value
    end function inner
  end function mixed

  recursive integer function folded(count) result(total)
    integer, intent(in) :: count
    total = state
    if (count > 0) total = mixed(count) + folded(count - 1)
  end function folded
end module shapes

program main
  use shapes
  implicit none
  integer :: at, total
  real :: values(8)
  total = 0
  do at = 1, 4 + state
    total = total + folded(at)
    values(1 + mod(at, 8)) = real(total)
  end do
  print *, total, sum(values(1:state))
end program main
