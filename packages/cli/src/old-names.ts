/**
 * Former names of commands. Scripts may use them; no help, page or completion shows them. The arguments remain
 * unchanged.
 */
const oldNames: readonly (readonly [old: readonly string[], now: readonly string[]])[] = [
  [['tasks'], ['work', 'next']],
  ...[
    'task',
    'claim',
    'run',
    'approval',
    'artifact',
    'agent',
    'skill',
    'project',
    'process',
    'principal',
    'directory',
    'token',
    'workspace',
    'goal',
    'rule',
    'task-type',
    'role',
    'session',
  ].flatMap((noun): [string[], string[]][] => [
    [
      [noun, 'ls'],
      [noun, 'list'],
    ],
    [
      [noun, 'show'],
      [noun, 'view'],
    ],
  ]),
];

/** Replaces a former name of a command by its current one. */
export function withPresentName(args: readonly string[]): readonly string[] {
  const found = oldNames.find(([old]) => old.every((word, at) => args[at] === word));
  return found === undefined ? args : [...found[1], ...args.slice(found[0].length)];
}
