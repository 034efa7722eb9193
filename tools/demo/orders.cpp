// Adds up orders, and crashes at one without a customer.
#include <cstdio>
#include <string>
#include <vector>

struct Customer { std::string name; double discount; };
struct Order { const Customer *customer; double price; };

static inline double discounted(const Order &order) {
  return order.price * (1 - order.customer->discount);
}

static double total(const std::vector<Order> &orders) {
  double sum = 0;
  for (const Order &order : orders)
    sum += discounted(order);
  return sum;
}

__attribute__((noinline)) void print_invoice(const std::vector<Order> &orders) {
  std::printf("total %.2f\n", total(orders));
}

int main() {
  Customer ann{"Ann", 0.1};
  print_invoice({{&ann, 20}, {nullptr, 5}});
}
