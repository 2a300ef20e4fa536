import {
  type Approval,
  type ApprovalSubject,
  presentSubject,
  type SubjectChange,
  subjectChanges,
} from '@baton/sdk';

type Snapshot = ApprovalSubject['snapshot'];

const invisible = /[^\P{Cc}\t\n]|\p{Cf}|[\u{E0000}-\u{E0FFF}]/gu;
const joiners: readonly string[] = ['\u200C', '\u200D'];

/**
 * What a decision is about, as lines for people: the task, the result, the actions that follow, and what has changed. Nothing
 * is cut, and what doesn't show is written as its code: the decision may hang on it.
 * @param earlier the approval that this one supersedes
 */
export function reviewLines(approval: Approval, earlier?: Approval): string[] {
  const { subject, changedFields, status } = approval;
  // What was decided doesn't change any more.
  if (status !== 'pending' && subject !== null)
    return [
      ...subjectLines('What was decided', subject),
      ...changeLines('Changed between the request and the decision', approval.requestedSubject, subject),
      ...changeLines('Changed since the decision', subject, approval.current),
    ];
  const now = presentSubject(approval);
  if (now === undefined)
    return [
      `What this is about has become too large to be shown, so it can't be approved. Changed: ${changedFields.join(', ')}.`,
    ];
  return [
    ...subjectLines('What you decide', now),
    ...(subject === null ? ['', 'What this was about when it was requested was not recorded.'] : []),
    ...changeLines('Changed since it was approved', earlier?.subject, now),
    ...changeLines('Changed since it was requested', subject, now),
  ];
}

/** The changed values by name, as `title, customFields.amount`; the fields alone where the values can't be compared. */
export function changedNames(approval: Approval): string {
  const { subject, current, changedFields } = approval;
  const names =
    subject === null || current === null
      ? changedFields
      : subjectChanges(subject, current).map(({ path }) => nameOf(path));
  return names.join(', ');
}

function subjectLines(title: string, { snapshot, digest }: ApprovalSubject): string[] {
  const { task, artifact, outcome } = snapshot;
  const facts = [...taskFacts(task), ...artifactFacts(artifact)];
  return [
    title,
    ...factLines(facts, '  '),
    ...(facts.length === 0 ? ['  neither a task nor an artifact'] : []),
    ...(outcome === null
      ? []
      : [
          'What follows from an approval',
          ...actionLines(outcome.approved, '  '),
          'What follows from a rejection',
          ...actionLines(outcome.rejected, '  '),
        ]),
    `Digest ${digest}`,
  ];
}

type Fact = readonly [name: string, value: unknown];

function taskFacts(task: Snapshot['task']): Fact[] {
  if (task === null) return [];
  const { title, description, typeKey, typeVersion, priority, startDate, dueDate, customFields, acceptance } =
    task;
  const facts: Fact[] = [
    ['title', title],
    ['description', description],
    ['type', `${typeKey} version ${typeVersion}`],
    ['priority', priority],
    ['startDate', startDate],
    ['dueDate', dueDate],
  ];
  return [
    ...facts.filter(([, value]) => value !== null && value !== ''),
    ...Object.entries(customFields).map(
      ([name, value]): Fact => [nameOf(['task', 'customFields', name]), value],
    ),
    ...acceptance.map(({ key, ...check }): Fact => [nameOf(['task', 'acceptance', key]), checkOf(check)]),
  ];
}

function checkOf({ description, kind, ...details }: Readonly<Record<string, unknown>>): string {
  const given = Object.fromEntries(Object.entries(details).filter(([, value]) => value != null));
  const more = Object.keys(given).length === 0 ? '' : ` ${JSON.stringify(given)}`;
  return `${String(description)} (${String(kind)})${more}`.trim();
}

function artifactFacts(artifact: Snapshot['artifact']): Fact[] {
  if (artifact === null) return [];
  const { name, type, digest } = artifact;
  return [
    ['artifact', `${name} (${type})`],
    ...(digest === null ? [] : [['artifact.digest', digest] as const]),
  ];
}

function actionLines(actions: readonly Readonly<Record<string, unknown>>[], indent: string): string[] {
  if (actions.length === 0) return [`${indent}no action`];
  return actions.flatMap((action, index) => {
    const [kind, content] = Object.entries(action)[0] ?? ['', undefined];
    return [`${indent}${index + 1}. ${shown(kind)}`, ...factLines(leavesOf([], content), `${indent}   `)];
  });
}

/** The values within a document, each by its way there. */
function leavesOf(path: readonly string[], value: unknown): Fact[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || Object.keys(value).length === 0)
    return [[path.map(quoted).join('.'), value]];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf([...path, name], inner));
}

function changeLines(
  title: string,
  before: ApprovalSubject | null | undefined,
  after: ApprovalSubject | null,
): string[] {
  if (!before || !after || before.digest === after.digest) return [];
  return ['', title, ...subjectChanges(before, after).flatMap(linesOfChange)];
}

function linesOfChange({ path, before, after }: SubjectChange): string[] {
  const [old, now] = [before, after].map((value) => (value === undefined ? '(nothing)' : textOf(value)));
  // 10 and "10", or joiners, which are shown as they are.
  const isAlike = old === now;
  const texts = isAlike
    ? [before, after].map((value) => shown(JSON.stringify(value) ?? '(nothing)', false))
    : [old, now];
  return [
    `  ${nameOf(path)}`,
    ...(texts[0] ?? '').split('\n').map((line) => `    - ${line}`),
    ...(texts[1] ?? '').split('\n').map((line) => `    + ${line}`),
  ];
}

/** Further lines of a value begin with a bar: others' text can't look like a line of ours. */
function factLines(facts: readonly Fact[], indent: string): string[] {
  const width = Math.min(Math.max(...facts.map(([name]) => name.length), 0), 32);
  return facts.flatMap(([name, value]) => {
    const [first = '', ...more] = textOf(value).split('\n');
    return [
      `${indent}${name.padEnd(width)}  ${first}`,
      ...more.map((line) => `${indent}${' '.repeat(width)}| ${line}`),
    ];
  });
}

/** The place of a value, as the API names it; names of others in quotes where they could be taken for more. */
function nameOf(path: readonly string[]): string {
  const [root, ...rest] = path;
  return (root === 'task' && rest.length > 0 ? rest : path).map(quoted).join('.');
}

function quoted(name: string): string {
  return /^[\w-]+$/.test(name) ? name : shown(JSON.stringify(name));
}

function textOf(value: unknown): string {
  if (value === '') return '""';
  return shown(typeof value === 'string' ? value : JSON.stringify(value));
}

function shown(text: string, keepsJoiners = true): string {
  return text.replaceAll(invisible, (character) =>
    keepsJoiners && joiners.includes(character)
      ? character
      : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
