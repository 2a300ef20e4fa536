/**
 * Names that commands had before each had one only. Scripts may use them; no help, page or completion shows them. The words behind
 * the name stay as they are.
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

/** The command line with the present name of its command. */
export function withPresentName(args: readonly string[]): readonly string[] {
  const found = oldNames.find(([old]) => old.every((word, at) => args[at] === word));
  return found === undefined ? args : [...found[1], ...args.slice(found[0].length)];
}
