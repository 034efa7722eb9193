#!/usr/bin/env bash
# stackprof's callgrind files lack the time of all methods that are written in C.
#
# Guess: `stackprof --callgrind` has the samples of `stackprof --text`, which fit its "summary" line:
#   `sort`, in which this program spends its time, has nearly all of them.
# Seen: `sort` is in the file with its calls and without any cost, and the costs of all functions
#   are a few percent of the summary. A sample's line gives a cost, and methods of C, as most of
#   Ruby's library (and of JSON, databases, regular expressions), have no lines. Where all is in
#   such methods, a viewer, and what makes a graph of the file, shows an empty profile.
# Versions: stackprof 0.2.21 with Ruby 3.1 (Debian 12).
# Source: seen; print_callgrind in lib/stackprof/report.rb.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root ruby3.1 libruby3.1 ruby-stackprof=0.2.21-2+b1 \
  2>/dev/null || { echo "not available: ruby3.1, ruby-stackprof 0.2.21-2+b1"; exit 77; }
for package in ./*.deb; do
  dpkg-deb -x "$package" debian
done
lib=$PWD/debian/usr/lib/x86_64-linux-gnu
gems=$lib/rubygems-integration/3.1.0
export LD_LIBRARY_PATH=$lib
export RUBYLIB=debian/usr/lib/ruby/3.1.0:$lib/ruby/3.1.0
RUBYLIB+=:$gems/gems/stackprof-0.2.21/lib:$gems/extensions/x86_64-linux/3.1.0/stackprof-0.2.21
ruby() { debian/usr/bin/ruby3.1 --disable-gems "$@"; }
ruby -v || { echo "not available: the libraries of Ruby"; exit 77; }

cat > sorts.rb <<'RUBY'
require "stackprof"
def order(numbers)
  numbers.sort
end
numbers = Array.new(200_000) { |n| (n * 7919) % 200_003 }
result = StackProf.run(mode: :cpu, interval: 1000) { 40.times { order(numbers) } }
report = StackProf::Report.new(result)
File.open("out.txt", "w") { |file| report.print_text(false, nil, nil, nil, nil, nil, file) }
File.open("out.callgrind", "w") { |file| report.print_callgrind(file) }
RUBY
ruby sorts.rb
cat out.txt out.callgrind

python3 - <<'PYTHON'
import re

lines = open("out.callgrind").read().splitlines()
(sort,) = re.findall(r"^ *\d+ +\(\S+\) +(\d+) .*Array#sort$", open("out.txt").read(), re.M)
(summary,) = (int(line.split()[1]) for line in lines if line.startswith("summary:"))
assert int(sort) > 0.8 * summary > 15, (sort, summary)
# The line after calls= is the cost of the calls.
own = [line for before, line in zip(lines, lines[1:]) if not before.startswith("calls=")]
costs = [int(line.split()[1]) for line in own if re.fullmatch(r"\d+ \d+", line)]
print("samples:", summary, "of sort:", sort, "costs of all functions:", sum(costs))
assert sum(costs) < 0.2 * summary
PYTHON
