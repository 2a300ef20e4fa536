import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '@baton/values/wire';
import { CalendarSpec } from '../../calendars/calendar.ts';
import { WorkingCalendar } from '../../calendars/working-calendar.ts';
import { compileExpression, evaluate, type Program } from './expressions.ts';
import { ExpressionProblem } from './parse-expression.ts';
import { bool, dyn, mapOf, nameOf, objectOf, string, type Type, timestamp, typeOfSchema } from './types.ts';

const schema: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    amount: { type: 'number' },
    count: { type: 'integer' },
    urgent: { type: 'boolean' },
    note: { type: ['string', 'null'] },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { type: 'integer' } },
    address: { $ref: '#/$defs/address' },
    extra: { type: 'object' },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
    tree: { $ref: '#/$defs/tree' },
  },
  $defs: {
    address: { type: 'object', properties: { city: { type: 'string' }, zip: { type: 'integer' } } },
    tree: { type: 'object', properties: { child: { $ref: '#/$defs/tree' } } },
  },
};
const variables = new Map<string, Type>([
  ['data', typeOfSchema(schema)],
  ['event', objectOf({ type: string, time: timestamp, payload: mapOf(dyn) })],
  ['stage', objectOf({ 'first-look': objectOf({ completed: bool, active: bool }) })],
  ['anything', dyn],
]);
const data = {
  name: 'Ada',
  amount: 5,
  count: 3,
  urgent: true,
  tags: ['b', 'a', 'b'],
  sizes: [3, 1, 2],
  address: { city: 'Berlin', zip: 10_115 },
  extra: { deep: { x: 1 } },
  either: 'text',
};
const roots = {
  data,
  event: { type: 'a.b', time: '2026-03-02T09:30:00Z', payload: { n: 2, list: [1, 2], text: 'héllo' } },
  stage: { 'first-look': { completed: true, active: false } },
  anything: { list: [{ v: 1 }, { v: 2 }] },
};

const compiled = (text: string): Program => compileExpression(text, { variables });
const hours = CalendarSpec.parse({
  displayName: 'Office',
  timezone: 'Europe/Berlin',
  workingHours: { intervals: [{ from: '09:00', to: '17:00' }] },
  years: [{ year: 2026, holidays: ['2026-03-03'] }],
});
const calendars = new Map<string | null, WorkingCalendar>([
  [null, new WorkingCalendar(hours)],
  ['days', new WorkingCalendar(CalendarSpec.parse({ ...hours, workingHours: null }))],
]);

function ran(text: string, costLimit = 10_000): ReturnType<typeof evaluate> {
  return evaluate(compiled(text), roots, { costLimit, calendarOf: (key) => calendars.get(key) });
}

function problemOf(text: string): string {
  try {
    return `none: ${nameOf(compiled(text).type)}`;
  } catch (error) {
    assert.ok(error instanceof ExpressionProblem, String(error));
    return error.code;
  }
}

const values: readonly [string, Json][] = [
  ['1 + 2 * 3 - 4 / 2 % 3', 5],
  ['7 / 2', 3],
  ['7.0 / 2.0', 3.5],
  ['-data.count', -3],
  ['data.amount * 2.0', 10],
  ['data.count == 3 && data.amount == 5', true],
  ['data.amount > 4', true],
  ['event.payload.n + 1', 3],
  ['event.payload.n % 2 == 0', true],
  ['"a" + "b" == "ab" ? "yes" : "no"', 'yes'],
  ['!data.urgent || data.name != "Bob"', true],
  ['data.note == null', true],
  ['data.name < "B"', true],
  ['"a" in data.tags && "deep" in data.extra && !("x" in data.extra)', true],
  ['2 in event.payload.list', true],
  ['[1, 2] + [3]', [1, 2, 3]],
  ['{"a": 1, "b": [data.name]}', { a: 1, b: ['Ada'] }],
  ['data["count"] + event.payload.list[0]', 4],
  ['stage["first-look"].completed', true],
  ['has(data.note) ? 1 : 2', 2],
  ['has(data.address.city) && !has(event.payload.other)', true],
  ['data.tree.child', null],
  ['data.sizes.all(s, s > 0) && data.sizes.exists(s, s == 2)', true],
  ['data.sizes.exists_one(s, s > 2) && data.sizes.existsOne(s, s > 2)', true],
  ['data.sizes.map(s, s * 2)', [6, 2, 4]],
  ['data.sizes.map(s, s > 1, s + 1)', [4, 3]],
  ['data.sizes.filter(s, s != 1)', [3, 2]],
  ['anything.list.map(one, one.v + 1)', [2, 3]],
  ['data.extra.map(name, name)', ['deep']],
  ['[0, 1].all(x, 1 / x > 5)', false],
  ['cel.bind(x, data.count, x * x + cel.bind(y, x, y))', 12],
  ['cel.bind(x, 1, [2].map(x, x)[0] + x)', 3],
  ['data.?note.orValue("none")', 'none'],
  ['data.?name.orValue("none")', 'Ada'],
  ['event.payload.?other.?deep.hasValue()', false],
  ['event.payload[?"n"].value()', 2],
  ['event.payload.list[?9].orValue(7)', 7],
  ['optional.of(3).optMap(v, v + 1).orValue(0)', 4],
  ['optional.none().optMap(v, v + 1).orValue(0)', 0],
  ['optional.of(3).optFlatMap(v, optional.ofNonZeroValue(v - 3)).hasValue()', false],
  ['optional.none().or(optional.of(2)).value()', 2],
  ['optional.none()', null],
  ['false && 1 / 0 == 1', false],
  ['1 / 0 == 1 && false', false],
  ['1 / 0 == 1 || true', true],
  ['size(data.tags) + data.name.size() + size("héllo") + size(data.extra)', 12],
  ['"tacocat".charAt(3) + "héllo".substring(1, 2) + "abc".substring(1)', 'oébc'],
  ['["a", "b"].join("-") + ["c"].join()', 'a-bc'],
  ['"a,b,c".split(",")', ['a', 'b', 'c']],
  ['"a,b,c".split(",", 2)', ['a', 'b,c']],
  ['"hello".replace("l", "L") + "hello".replace("l", "L", 1)', 'heLLoheLlo'],
  ['" x ".trim() + "Ä B".lowerAscii() + "ä b".upperAscii()', 'xÄ bä B'],
  ['"hello".indexOf("l") + "hello".lastIndexOf("l") + "hello".indexOf("l", 3)', 8],
  ['"hello".lastIndexOf("l", 2) + "hello".indexOf("z")', 1],
  ['"abc".reverse() + string([1, 2].reverse()[0])', 'cba2'],
  ['"abc".contains("b") && "abc".startsWith("a") && "abc".endsWith("c")', true],
  ['"abc-12".matches("^[a-z]+-[0-9]+$") && !matches("x", "y")', true],
  ['data.sizes.sort() + data.sizes.slice(1, 3)', [1, 2, 3, 1, 2]],
  ['data.tags.distinct().sort()', ['a', 'b']],
  ['[1, 1.0, 2, [1], [1]].distinct()', [1, 2, [1]]],
  ['[[1], [2, [3]]].flatten()', [1, 2, [3]]],
  ['[[1], [2, [3]]].flatten(2)', [1, 2, 3]],
  ['string(5) + string(1.5) + string(true) + string(data.amount)', '51.5true5'],
  ['int("42") + int(3.9) + int(timestamp("1970-01-01T00:00:05Z"))', 50],
  ['double("1.5") + double(1)', 2.5],
  ['bool("true") && dyn(true)', true],
  ['event.time + duration("PT30M")', '2026-03-02T10:00:00.000Z'],
  ['timestamp("2026-03-02T09:30:00+01:00")', '2026-03-02T08:30:00.000Z'],
  ['duration("P1WT1S") - duration("1h30m")', 'PT166H30M1S'],
  ['duration("P2D") > duration("PT47H") && duration("P2W") == duration("P14D")', true],
  ['timestamp(0) - timestamp(3600)', '-PT1H'],
  ['event.time.getFullYear() + event.time.getMonth() + event.time.getDayOfMonth()', 2029],
  ['event.time.getDayOfWeek() + event.time.getDate() + event.time.getDayOfYear()', 63],
  ['event.time.getHours() * 100 + event.time.getHours("Europe/Berlin")', 910],
  ['duration("PT1H30M").getMinutes() + duration("PT2H").getHours()', 92],
  ['cal.addWorkdays(event.time, 1)', '2026-03-04T09:30:00.000Z'],
  ['cal.isWorkday(timestamp("2026-03-03T12:00:00Z"))', false],
  ['cal.workdaysBetween(event.time, timestamp("2026-03-06T00:00:00Z"), "days")', 3],
  ['cal.addWorkingTime(event.time, duration("PT8H"))', '2026-03-04T09:30:00.000Z'],
  ['cal.workingTimeBetween(event.time, timestamp("2026-03-04T09:00:00Z"))', 'PT7H30M'],
];

test('evaluates CEL with text, lists, optionals, bindings, instants, spans and calendars', () => {
  for (const [text, value] of values) assert.deepEqual(ran(text), { value }, text);
});

const faults: readonly [string, string][] = [
  ['event.payload.missing', 'no_such_key'],
  ['event.payload.missing.deeper', 'no_such_key'],
  ['data.tree.child.child', 'no_such_key'],
  ['event.payload.list[7]', 'index_out_of_range'],
  ['"abc".substring(2, 1)', 'index_out_of_range'],
  ['1 / 0', 'division_by_zero'],
  ['1 % 0', 'division_by_zero'],
  ['9223372036854775807 + 1', 'number_out_of_range'],
  ['9007199254740993', 'number_out_of_range'],
  ['1.0 / 0.0', 'number_out_of_range'],
  ['event.payload.text - 1', 'no_such_overload'],
  ['event.payload.text ? 1 : 2', 'no_such_overload'],
  ['event.payload.n.size() == 1', 'no_such_overload'],
  ['optional.none().value()', 'optional_without_value'],
  ['timestamp("yesterday")', 'invalid_argument'],
  ['duration("P1M")', 'invalid_argument'],
  ['int("x")', 'invalid_argument'],
  ['cal.addWorkdays(event.time, -1)', 'invalid_argument'],
  ['"a".matches(event.payload.text + "(")', 'invalid_pattern'],
  ['cal.addWorkdays(event.time, 1, "other")', 'calendar_missing'],
  ['cal.addWorkingTime(event.time, duration("PT1H"), "days")', 'calendar_without_hours'],
  ['cal.addWorkdays(event.time, 100000)', 'calendar_scan_limit'],
];

test('returns the reason why an expression failed', () => {
  for (const [text, reason] of faults)
    assert.deepEqual(ran(text), { fault: { code: 'expression_error', reason } }, text);
});

const problems: readonly [string, string][] = [
  ['data.', 'expression_syntax_error'],
  ['1 +', 'expression_syntax_error'],
  ['let', 'expression_syntax_error'],
  ['"open', 'expression_syntax_error'],
  ['[1].map(1, 2)', 'expression_syntax_error'],
  ['data.name + 1', 'expression_type_error'],
  ['data.amount * 2', 'expression_type_error'],
  ['data.name == 1', 'expression_type_error'],
  ['data.name && true', 'expression_type_error'],
  ['!data.name', 'expression_type_error'],
  ['-data.name', 'expression_type_error'],
  ['data.name < 1', 'expression_type_error'],
  ['data.extra < data.extra', 'expression_type_error'],
  ['data.unknown', 'expression_type_error'],
  ['data["unknown"]', 'expression_type_error'],
  ['has(data.unknown)', 'expression_type_error'],
  ['has(1)', 'expression_type_error'],
  ['data.address.street', 'expression_type_error'],
  ['data.tags.first', 'expression_type_error'],
  ['data.tags["x"]', 'expression_type_error'],
  ['data.name.city', 'expression_type_error'],
  ['stage.other.completed', 'expression_type_error'],
  ['nobody', 'expression_type_error'],
  ['now()', 'expression_type_error'],
  ['data.name.nothing()', 'expression_type_error'],
  ['data.name.size(1)', 'expression_type_error'],
  ['data.count.size()', 'expression_type_error'],
  ['1 in data.tags', 'expression_type_error'],
  ['1 in 2', 'expression_type_error'],
  ['data.name.map(x, x)', 'expression_type_error'],
  ['data.tags.filter(x, 1)', 'expression_type_error'],
  ['data.name ? 1 : 2', 'expression_type_error'],
  ['{1: 2}', 'expression_type_error'],
  ['5u', 'expression_type_error'],
  ['b"x"', 'expression_type_error'],
  ['data.name.matches("(?=x)")', 'expression_type_error'],
  ['data.name.matches("a{1000}{1000}")', 'expression_type_error'],
  ['cal.nothing(event.time)', 'expression_type_error'],
  ['cal.isWorkday(1)', 'expression_type_error'],
  ['cal.isWorkday(event.time, data.name)', 'expression_type_error'],
  ['optional.from(1)', 'expression_type_error'],
  ['data.name.optMap(x, x)', 'expression_type_error'],
  [`${'1+'.repeat(31)}1`, 'none: int'],
  [`${'1+'.repeat(32)}1`, 'expression_too_complex'],
  [`"${'x'.repeat(3998)}"`, 'none: string'],
  [`"${'x'.repeat(3999)}"`, 'expression_too_complex'],
  ['[1].map(a, [1].map(b, [1].map(c, c)))', 'none: list(list(list))'],
  ['[1].map(a, [1].map(b, [1].map(c, [1].all(d, true))))', 'expression_too_complex'],
];

test('checks types, and bounds text, depth and macros inside of each other', () => {
  for (const [text, code] of problems) assert.equal(problemOf(text), code, text);
});

test('ends expressions of any form before the stack does', () => {
  const hostile = ['!', '-', '(', '[', '{', 'a?', '1+', 'x.map(y,', 'has(', '"', '1 in '].map((unit) =>
    unit.repeat(4000 / unit.length),
  );
  for (const text of [...hostile, `a${'.b'.repeat(1990)}`, `${'['.repeat(1990)}${']'.repeat(1990)}`])
    assert.match(problemOf(text), /^expression_(syntax_error|too_complex)$/, text.slice(0, 20));
});

test('counts steps while it evaluates, so that nothing takes longer than 50 ms', () => {
  const list = `[${'1,'.repeat(60)}1]`;
  const hostile = [
    `${list}.map(a, ${list}.map(b, ${list}.map(c, a + b + c)))`,
    `${list}.all(a, ${list}.all(b, ${list}.all(c, !"x".matches("(x+x+)+y"))))`,
    `cel.bind(a, "${'x'.repeat(3000)}", ${list}.map(x, a + a))`,
    ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
      .reduceRight(
        (inner, name) =>
          `cel.bind(${name}, [x, x, x, x, x, x, x, x].map(y, x), cel.bind(x, ${name}, ${inner}))`,
        'x',
      )
      .replace(/^/, 'cel.bind(x, ["x"], ')
      .concat(')'),
    `${list}.map(a, timestamp(a * 1000000 + 1500000000)).map(t, cal.addWorkingTime(t, duration("P3000D")))`,
    `${list}.map(a, "${'ab'.repeat(1000)}".replace("a", "${'b'.repeat(500)}").split("b").join("ccc").size())`,
    `${list}.map(a, "a{" + string(a + 98) + "}").map(p, ${list}.map(n, "aaaa".matches(p + string(n))))`,
    `${list}.map(a, ${list}).sort()`,
  ];
  ran(hostile[0] as string);
  for (const text of hostile) {
    // In CPU time of this thread, because other processes share the machine.
    const began = process.threadCpuUsage().user;
    const outcome = ran(text);
    const took = (process.threadCpuUsage().user - began) / 1000;
    assert.ok('fault' in outcome, `${text.slice(0, 80)} ${JSON.stringify(outcome).slice(0, 200)}`);
    assert.ok(took < 150, `${text.slice(0, 80)} took ${took} ms`);
  }
  assert.deepEqual(ran(hostile[0] as string), { fault: { code: 'expression_cost_exceeded', reason: null } });
  assert.deepEqual(ran('data.count == 3', 6), { value: true });
  assert.deepEqual(ran('data.count == 3', 5), { fault: { code: 'expression_cost_exceeded', reason: null } });
});

test('returns the data fields that an expression reads, and the calendars that it names', () => {
  const {
    reads,
    variables: read,
    calendars: named,
  } = compiled(
    'data.count + 1 > 2 && has(data.note) && cal.isWorkday(event.time, "days") && cal.isWorkday(event.time)',
  );
  assert.deepEqual([...reads].sort(), ['count', 'note']);
  assert.deepEqual([...read].sort(), ['data', 'event']);
  assert.deepEqual([...named], ['days', null]);
  assert.deepEqual([...compiled('data.count > 1 && size(dyn(data)) > 0').reads].sort(), ['*', 'count']);
  assert.deepEqual([...compiled('[data.count].map(data, data)').reads], ['count']);
});
