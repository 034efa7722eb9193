#!/usr/bin/env bash
# Excimer gives all calls of functions that stand in one line to the first of them.
#
# Guess: PHP's profiler Excimer counts samples by function, as it prints them.
# Seen: of `read` and `write`, which stand in one line, are called from one line and burn the same
#   time, `read` has all of the time and `write` does not exist. Excimer keeps a frame by file,
#   line being executed and caller's frame; the name of the function is that of the first such
#   frame. Code in one line is what minifiers, generators of code, eval() and arrow functions
#   have. Called from two lines, the same two functions are told apart.
# Versions: Excimer 1.0.4 of Debian 12 with PHP 8.2.
# Source: seen; the key is made in excimer_log_find_or_add_frame (excimer_log.c of
#   wikimedia/mediawiki-php-excimer), which is the same in later versions.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq -o APT::Sandbox::User=root php8.2-cli php-excimer=1.0.4-2+b1 2>/dev/null \
  || { echo "not available: php8.2-cli, php-excimer 1.0.4-2+b1"; exit 77; }
for package in ./*.deb; do
  dpkg-deb -x "$package" debian
done
php() {
  debian/usr/bin/php8.2 -n -d "extension=$PWD/debian/usr/lib/php/20220829/excimer.so" "$@"
}
php -v || { echo "not available: the libraries of PHP"; exit 77; }

cat > jobs.php <<'PHP'
<?php
function spin() {
  for ($end = microtime(true) + 0.3; microtime(true) < $end;);
}
class Job { static function read() { spin(); } static function write() { spin(); } }
function of_two_lines() {
  Job::read();
  Job::write();
}
function of_one_line() { Job::read(); Job::write(); }

$profiler = new ExcimerProfiler();
$profiler->setPeriod(0.001);
$profiler->setEventType(EXCIMER_REAL);
$profiler->start();
of_two_lines();
of_one_line();
$profiler->stop();
foreach (explode("\n", trim($profiler->getLog()->formatCollapsed())) as $line) {
  preg_match('/(of_\w+);Job::(\w+);spin (\d+)$/', $line, $found) && print("$found[1] $found[2] $found[3]\n");
}
PHP
php jobs.php | tee out.txt
python3 - <<'PYTHON'
rows = [line.split() for line in open("out.txt")]
samples = {(caller, name): int(count) for caller, name, count in rows}
read, write = (samples["of_two_lines", name] for name in ("read", "write"))
assert 0.5 < read / write < 2, samples
assert ("of_one_line", "write") not in samples, samples
assert samples["of_one_line", "read"] > 1.2 * max(read, write), samples
PYTHON
