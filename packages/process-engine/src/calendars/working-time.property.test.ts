import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { byDepth } from '@baton/testing/depth';
import { CalendarSpec } from './calendar.ts';
import { orderCalendarSpec } from './calendar-spec.ts';
import { WorkingCalendar } from './working-calendar.ts';
import {
  addWorkdays,
  addWorkingTime,
  CalendarFault,
  isProvisional,
  isWorkday,
  workdaysBetween,
  workingTimeBetween,
} from './working-time.ts';

/**
 * `npm run model -- calendars 5000` runs 5,000 cases of each property.
 */
const runs = Number(process.env['BATON_TEST_CALENDAR_RUNS'] ?? byDepth(100, 300));

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/**
 * The reference for the arithmetic: it iterates minute by minute and determines from the local time (by Intl, not by
 * Temporal) whether each is working time.
 */
function oracle(spec: CalendarSpec) {
  const clock = new Intl.DateTimeFormat('en-CA', {
    timeZone: spec.timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  /** `2026-03-29` and `01:59`. */
  const shown = (atMs: number): [date: string, time: string] => {
    const text = clock.format(atMs).split(', ');
    return [text[0] as string, text[1] as string];
  };
  const weekdayOf = (date: string) => new Date(`${date}T00:00:00Z`).getUTCDay() || 7;
  const worksOn = (date: string) => {
    const year = spec.years.find((one) => date.startsWith(`${one.year}-`));
    if (year?.workdays.includes(date)) return true;
    return !(year?.holidays.includes(date) ?? false) && !spec.weekend.includes(weekdayOf(date));
  };
  const earlier = (time: string, minutes: number) => {
    const left = Number(time.slice(0, 2)) * 60 + Number(time.slice(3)) - minutes;
    return `${String(Math.floor(left / 60)).padStart(2, '0')}:${String(left % 60).padStart(2, '0')}`;
  };
  const works = (atMs: number) => {
    const [date, time] = shown(atMs);
    if (!worksOn(date) || spec.workingHours === null) return false;
    const { intervals, weekdays, shortDayReduction } = spec.workingHours;
    const hours = weekdays[String(weekdayOf(date)) as '1'] ?? intervals;
    const isShort = spec.years.some(({ shortDays }) => shortDays.includes(date));
    return hours.some(({ from, to }, n) => {
      const isCut = isShort && n === hours.length - 1;
      const until = isCut ? earlier(to, Number(shortDayReduction.slice(2, -1))) : to;
      return time >= from && time < until;
    });
  };
  return {
    shown,
    worksOn,
    between(fromMs: number, toMs: number) {
      let minutes = 0;
      for (let atMs = fromMs; atMs < toMs; atMs += minuteMs) if (works(atMs)) minutes += 1;
      return minutes;
    },
    /** Undefined if there isn't enough working time within the limit. */
    add(fromMs: number, minutes: number, limitMs: number) {
      let left = minutes;
      let atMs = fromMs;
      for (; left > 0 && atMs < fromMs + limitMs; atMs += minuteMs) if (works(atMs)) left -= 1;
      return left === 0 ? atMs : undefined;
    },
  };
}

const dateOf = (day: number) => new Date(Date.UTC(2026, 0, 1) + day * dayMs).toISOString().slice(0, 10);
/** A date of 2026 or 2027. */
const date = fc.integer({ min: 0, max: 729 }).map(dateOf);

/** Clock changes by an hour, by half an hour, at midnight, by a whole day, several per year, and none. */
const zones: [zone: string, near: string][] = [
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['America/New_York', '2027-03-14'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['America/Havana', '2026-11-01'],
  ['Asia/Beirut', '2026-03-29'],
  ['America/Santiago', '2026-09-06'],
  ['Africa/Casablanca', '2026-02-15'],
  ['Africa/Casablanca', '2027-03-14'],
  ['Africa/Cairo', '2026-10-29'],
  ['America/Scoresbysund', '2024-03-31'],
  ['Pacific/Apia', '2011-12-30'],
  ['America/St_Johns', '2008-11-02'],
  ['Asia/Kathmandu', '2026-06-01'],
  ['UTC', '2026-12-31'],
];

const timeOf = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** Up to three spans of hours in order, in steps of five minutes. */
const hours = fc
  .uniqueArray(fc.integer({ min: 0, max: 288 }), { minLength: 2, maxLength: 6 })
  .map((ends) => ends.slice(0, ends.length - (ends.length % 2)).sort((a, b) => a - b))
  .map((ends) =>
    Array.from({ length: ends.length / 2 }, (_, n) => ({
      from: timeOf((ends[2 * n] as number) * 5),
      to: timeOf((ends[2 * n + 1] as number) * 5),
    })),
  );

const weekdays = fc.dictionary(
  fc.constantFrom('1', '2', '3', '4', '5', '6', '7'),
  fc.oneof(hours, fc.constant([])),
  { maxKeys: 3 },
);

const fcSpec = fc
  .record({
    zone: fc.constantFrom(...zones),
    weekend: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 3 }),
    intervals: hours,
    weekdays,
    reduction: fc.integer({ min: 0, max: 3 }),
    off: fc.uniqueArray(date, { maxLength: 60 }),
    on: fc.uniqueArray(date, { maxLength: 30 }),
    short: fc.uniqueArray(date, { maxLength: 60 }),
  })
  .map(({ zone: [timezone, near], ...made }) => {
    const days = (list: readonly string[], of: number) => list.filter((one) => one.startsWith(`${of}-`));
    const free = (list: readonly string[]) => list.filter((one) => !made.off.includes(one));
    const sent = {
      displayName: 'x',
      timezone,
      weekend: made.weekend,
      workingHours: {
        intervals: made.intervals,
        weekdays: made.weekdays,
        // Never longer than the hours of a day, which are at least five minutes in total.
        shortDayReduction: `PT${made.reduction}M`,
      },
      years: [2026, 2027].map((year) => ({
        year,
        holidays: days(made.off, year),
        workdays: days(free(made.on), year),
        shortDays: days(free(made.short), year),
      })),
    };
    return { spec: orderCalendarSpec(CalendarSpec.parse(sent)), nearMs: Date.parse(near) };
  });

/** A calendar, an instant near a clock change, and a number of minutes. */
const asked = fcSpec.chain(({ spec, nearMs }) =>
  fc.record({
    spec: fc.constant(spec),
    fromMs: fc.integer({ min: -2 * 1440, max: 2 * 1440 }).map((minutes) => nearMs + minutes * minuteMs),
    minutes: fc.integer({ min: 0, max: 4 * 1440 }),
  }),
);

describe('the arithmetic of calendars agrees with a walk minute by minute', () => {
  test('the working time between two instants', () => {
    fc.assert(
      fc.property(asked, ({ spec, fromMs, minutes }) => {
        const toMs = fromMs + minutes * minuteMs;
        const expected = oracle(spec).between(fromMs, toMs) * minuteMs;
        const calendar = new WorkingCalendar(spec);
        assert.equal(workingTimeBetween(calendar, fromMs, toMs), expected);
        assert.equal(workingTimeBetween(calendar, toMs, fromMs), 0 - expected);
      }),
      { numRuns: runs },
    );
  });

  test('the instant up to which so much is worked, the first one', () => {
    fc.assert(
      fc.property(asked, ({ spec, fromMs, minutes }) => {
        const expected = oracle(spec).add(fromMs, Math.ceil(minutes / 8), 6 * dayMs);
        if (expected === undefined) return;
        assert.equal(
          addWorkingTime(new WorkingCalendar(spec), fromMs, Math.ceil(minutes / 8) * minuteMs),
          expected,
        );
      }),
      { numRuns: runs },
    );
  });

  test('added working time equals counted working time, also over years', () => {
    fc.assert(
      fc.property(asked, fc.integer({ min: 1, max: 2_000_000 }), ({ spec, fromMs }, minutes) => {
        const calendar = new WorkingCalendar(spec);
        const workMs = minutes * minuteMs + 1;
        let toMs: number;
        try {
          toMs = addWorkingTime(calendar, fromMs, workMs);
        } catch (error) {
          assert.ok(error instanceof CalendarFault && error.code === 'calendar_scan_limit');
          return;
        }
        assert.equal(workingTimeBetween(calendar, fromMs, toMs), workMs);
        assert.equal(workingTimeBetween(calendar, fromMs, toMs - 1), workMs - 1);
      }),
      { numRuns: runs },
    );
  });

  test('working days, counted and added at the same time of the day', () => {
    fc.assert(
      fc.property(asked, fc.integer({ min: 0, max: 40 }), ({ spec, fromMs }, days) => {
        const [calendar, { shown, worksOn }] = [new WorkingCalendar(spec), oracle(spec)];
        const [first, time] = shown(fromMs);
        assert.equal(isWorkday(calendar, fromMs), worksOn(first));
        let [left, day] = [days, Date.parse(first)];
        const isoOf = (dayOfMs: number) => new Date(dayOfMs).toISOString().slice(0, 10);
        for (let walked = 0; left > 0; walked += 1) {
          if (walked > 400) return;
          day += dayMs;
          if (worksOn(isoOf(day))) left -= 1;
        }
        const toMs = addWorkdays(calendar, fromMs, days);
        const [reached, timeThere] = shown(toMs);
        const isSkipped = Math.abs(
          Date.parse(`${isoOf(day)}T${time}Z`) - Date.parse(`${reached}T${timeThere}Z`),
        );
        // If the clocks skip the local time, the result is later by the skipped period.
        assert.ok(
          isSkipped === 0 || [30, 60, 1440].includes(isSkipped / minuteMs),
          `${reached} ${timeThere}`,
        );
        if (reached === isoOf(day)) assert.equal(workdaysBetween(calendar, fromMs, toMs), days);
        assert.equal(workdaysBetween(calendar, toMs, fromMs), 0 - workdaysBetween(calendar, fromMs, toMs));
      }),
      { numRuns: runs },
    );
  });
});

const spec = (more: object) =>
  new WorkingCalendar(
    orderCalendarSpec(
      CalendarSpec.parse({ displayName: 'x', timezone: 'Europe/Berlin', years: [{ year: 2026 }], ...more }),
    ),
  );
const at = (text: string) => Date.parse(text);
const minutes = (count: number) => count * minuteMs;
const nights = { intervals: [{ from: '00:00', to: '24:00' }] };
const office = {
  intervals: [
    { from: '09:00', to: '12:00' },
    { from: '13:00', to: '17:00' },
  ],
};

describe('the rules of the contract', () => {
  test('a listed day of work wins over the weekend, a holiday over the week', () => {
    const calendar = spec({ years: [{ year: 2026, workdays: ['2026-01-10'], holidays: ['2026-01-12'] }] });
    assert.equal(isWorkday(calendar, at('2026-01-10T12:00:00Z')), true);
    assert.equal(isWorkday(calendar, at('2026-01-11T12:00:00Z')), false);
    assert.equal(isWorkday(calendar, at('2026-01-12T12:00:00Z')), false);
    // It is already Tuesday in Berlin.
    assert.equal(isWorkday(calendar, at('2026-01-12T23:30:00Z')), true);
  });

  test('the day that is started from does not count, and nothing added is the same instant', () => {
    const calendar = spec({});
    const friday = at('2026-03-27T15:30:00+01:00');
    assert.equal(addWorkdays(calendar, friday, 1), at('2026-03-30T15:30:00+02:00'));
    const sunday = at('2026-03-29T12:00:00+02:00');
    assert.equal(addWorkdays(calendar, sunday, 0), sunday);
    assert.equal(workdaysBetween(calendar, friday, at('2026-03-30T00:00:00+02:00')), 1);
    assert.equal(workdaysBetween(calendar, friday, friday), 0);
  });

  test('from outside of the hours work begins with the next ones; hours that are used up end at their end', () => {
    const calendar = spec({ workingHours: office });
    const night = at('2026-06-01T05:00:00+02:00');
    assert.equal(addWorkingTime(calendar, night, minutes(180)), at('2026-06-01T12:00:00+02:00'));
    assert.equal(addWorkingTime(calendar, night, minutes(181)), at('2026-06-01T13:01:00+02:00'));
    assert.equal(
      addWorkingTime(calendar, at('2026-06-05T17:00:00+02:00'), minutes(1)),
      at('2026-06-08T09:01:00+02:00'),
    );
  });

  test('a short day ends sooner, by its last hours alone, and a day of the week may have hours of its own', () => {
    const friday = [
      { from: '09:00', to: '10:00' },
      { from: '10:30', to: '11:00' },
    ];
    const calendar = spec({
      workingHours: { ...office, weekdays: { 5: friday }, shortDayReduction: 'PT30M' },
      years: [{ year: 2026, shortDays: ['2026-06-04', '2026-06-05'] }],
    });
    const of = (day: string) =>
      workingTimeBetween(calendar, at(`${day}T00:00Z`), at(`${day}T20:00Z`)) / minuteMs;
    assert.deepEqual(
      ['03', '04', '05', '12'].map((day) => of(`2026-06-${day}`)),
      [420, 390, 60, 90],
    );
  });

  test('an hour that the clocks skip is not worked, one that they show twice is worked twice', () => {
    const calendar = spec({ workingHours: nights, weekend: [] });
    const day = (from: string, to: string) => workingTimeBetween(calendar, at(from), at(to)) / 3_600_000;
    assert.equal(day('2026-03-29T00:00:00+01:00', '2026-03-30T00:00:00+02:00'), 23);
    assert.equal(day('2026-10-25T00:00:00+02:00', '2026-10-26T00:00:00+01:00'), 25);
  });

  test('a time that is provisional touches a year that is, or one that is not listed', () => {
    const calendar = spec({ years: [{ year: 2026 }, { year: 2027, provisional: true }] });
    const [june, december] = [at('2026-06-01T00:00:00Z'), at('2026-12-31T22:59:00Z')];
    assert.equal(isProvisional(calendar, june, december), false);
    assert.equal(isProvisional(calendar, december + minutes(1), june), true);
    assert.equal(isProvisional(calendar, at('2025-12-31T22:00:00Z'), june), true);
  });

  test('the search ends after 50 years', () => {
    const never = spec({ workingHours: office, weekend: [1, 2, 3, 4, 5, 6, 7] });
    const from = at('2026-06-01T00:00:00Z');
    const limit = { code: 'calendar_scan_limit' };
    assert.throws(() => addWorkdays(never, from, 1), limit);
    assert.throws(() => addWorkingTime(never, from, 1), limit);
    assert.throws(() => addWorkingTime(spec({ workingHours: office }), from, minutes(7_000_000)), limit);
    assert.throws(() => workdaysBetween(never, from, at('2076-06-03T00:00:00Z')), limit);
    assert.throws(() => workingTimeBetween(never, from, at('2076-06-03T00:00:00Z')), limit);
    assert.throws(() => isWorkday(never, at('1949-12-31T00:00:00Z')), limit);
    assert.throws(() => addWorkdays(never, from, -1), RangeError);
    assert.throws(() => addWorkingTime(spec({}), from, 1), { code: 'calendar_without_hours' });
  });
});

const heldMsMax = 50;

test('the worst calendar of the schema, parsed and used for 50 years, blocks the event loop for less than 50 ms', () => {
  const interval = (n: number) => ({ from: timeOf(n * 144), to: timeOf(n * 144 + 1) });
  const intervals = Array.from({ length: 10 }, (_, n) => interval(n));
  const days = Array.from({ length: 15 }, (_, n) => n);
  const dates = (year: number, list: number) =>
    days.map((n) => new Date(Date.UTC(year, list * 3, 1 + n)).toISOString().slice(0, 10));
  // Zones that Temporal searches in small steps, and one whose clocks change four times a year.
  for (const timezone of ['America/Noronha', 'America/Boa_Vista', 'Africa/Casablanca', 'Africa/El_Aaiun']) {
    const sent = {
      displayName: 'x',
      timezone,
      weekend: [],
      workingHours: {
        intervals,
        weekdays: Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((day) => [day, intervals])),
      },
      years: Array.from({ length: 101 }, (_, n) => ({
        year: 2000 + n,
        holidays: dates(2000 + n, 0),
        workdays: dates(2000 + n, 1),
        shortDays: dates(2000 + n, 2),
      })),
    };
    const parsed = CalendarSpec.parse(sent);
    let calendar = spec({});
    const from = at('2030-01-01T00:00:00Z');
    const tooMuch = minutes(50 * 366 * 10);
    const times = [
      processorMsOf(() => orderCalendarSpec(parsed)),
      processorMsOf(() => {
        calendar = new WorkingCalendar(parsed);
      }),
      processorMsOf(() => assert.throws(() => addWorkingTime(calendar, from, tooMuch))),
      processorMsOf(() => assert.ok(workingTimeBetween(calendar, from, at('2079-12-31T00:00:00Z')) > 0)),
      processorMsOf(() => assert.ok(workdaysBetween(calendar, from, at('2079-12-31T00:00:00Z')) > 0)),
    ];
    assert.ok(
      Math.max(...times) < heldMsMax,
      `${timezone}: ${times.map((ms) => ms.toFixed(1)).join(', ')} ms`,
    );
  }
});
