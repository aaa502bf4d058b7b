"""time and datetime, by the node's clocks."""
import datetime as real_datetime
import functools
import sys
import time

import hooke_channel as hooke

REAL = {name: getattr(time, name) for name in (
    'time', 'time_ns', 'monotonic', 'monotonic_ns', 'perf_counter', 'perf_counter_ns', 'sleep', 'localtime', 'gmtime',
    'ctime', 'strftime', 'asctime', 'process_time', 'process_time_ns', 'thread_time', 'thread_time_ns',
    'clock_gettime', 'clock_gettime_ns')}


def replace(name, simulated):
    real = REAL[name]

    def either(*arguments):
        return simulated(*arguments) if hooke.ON else real(*arguments)
    either.__name__ = name
    # A builtin does not bind when it is a class attribute (logging.Formatter.converter); nor does a partial.
    setattr(time, name, functools.partial(either))


def sleep(seconds):
    if seconds < 0:
        raise ValueError('sleep length must be non-negative')
    deadline = hooke.MONOTONIC + round(seconds * 1e9)
    hooke.park(deadline, lambda: False)


def clock_gettime_ns(clock):
    if clock in (time.CLOCK_MONOTONIC, getattr(time, 'CLOCK_BOOTTIME', -1), getattr(time, 'CLOCK_MONOTONIC_RAW', -1)):
        return hooke.MONOTONIC
    if clock == time.CLOCK_REALTIME:
        return hooke.WALL
    hooke.fail('reads the real clock %s' % clock)


def refuse(name):
    replace(name, lambda *arguments: hooke.fail('reads a real clock, time.%s' % name))


def strftime(form, when=None):
    return REAL['strftime'](form, REAL['localtime'](hooke.WALL / 1e9) if when is None else when)


replace('time', lambda: hooke.WALL / 1e9)
replace('time_ns', lambda: hooke.WALL)
replace('monotonic', lambda: hooke.MONOTONIC / 1e9)
replace('monotonic_ns', lambda: hooke.MONOTONIC)
replace('perf_counter', lambda: hooke.MONOTONIC / 1e9)
replace('perf_counter_ns', lambda: hooke.MONOTONIC)
replace('localtime', lambda s=None: REAL['localtime'](hooke.WALL / 1e9 if s is None else s))
replace('gmtime', lambda s=None: REAL['gmtime'](hooke.WALL / 1e9 if s is None else s))
replace('ctime', lambda s=None: REAL['ctime'](hooke.WALL / 1e9 if s is None else s))
replace('asctime', lambda t=None: REAL['asctime'](REAL['localtime'](hooke.WALL / 1e9) if t is None else t))
replace('strftime', strftime)
replace('sleep', sleep)
replace('clock_gettime', lambda clock: clock_gettime_ns(clock) / 1e9)
replace('clock_gettime_ns', clock_gettime_ns)
for each in ('process_time', 'process_time_ns', 'thread_time', 'thread_time_ns'):
    refuse(each)

RealDatetime = real_datetime.datetime
RealDate = real_datetime.date
UTC = real_datetime.timezone.utc


class datetime(RealDatetime):
    @classmethod
    def now(cls, tz=None):
        if not hooke.ON:
            return RealDatetime.now.__func__(cls, tz)
        there = cls(1970, 1, 1, tzinfo=UTC) + real_datetime.timedelta(microseconds=hooke.WALL // 1000)
        if tz is UTC:
            return there
        return there.astimezone(tz) if tz is not None else there.astimezone().replace(tzinfo=None)

    @classmethod
    def utcnow(cls):
        return cls.now(UTC).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return cls.now()


class date(RealDate):
    @classmethod
    def today(cls):
        return datetime.now().date()


# The C class has an interned module name and a fresh qualified name, which a pickle therefore writes twice: with
# anything else the pickles of PyTorch's states would have other bytes.
datetime.__module__, datetime.__qualname__ = sys.intern('datetime'), ''.join(('date', 'time'))
real_datetime.datetime = datetime
date.__module__, date.__qualname__ = 'datetime', 'date'
