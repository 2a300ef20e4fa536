import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { type Command, CommanderError } from 'commander';
import { repository } from '@baton/testing/baton-process';
import { splitArgs } from './leading-options.ts';
import { PlainError } from './plain-error.ts';
import { buildProgram, formatCommand, listLeafCommands, otherPrograms } from './program.ts';

// Every command that is mentioned in a text of this repository: pages, help, messages, the console, comments. No text
// is left out, because all files are searched.

const excluded = ['**/node_modules/**', '**/dist/**', '**/.baton/**', 'toolchain/**', '**/built/**'];
const filesOf = (...patterns: string[]) => globSync(patterns, { cwd: repository, exclude: excluded }).sort();

const pages = filesOf('*.md', 'docs/**/*.md', 'packages/**/*.md', 'examples/**/*.md', 'deploy/**/*.md');
const sources = filesOf(
  'packages/**/*.{ts,tsx}',
  'bin/*.mjs',
  'examples/**/*.{ts,mjs,sh,yaml,py}',
  'scripts/*.ts',
)
  .filter((file) => !/\.test\.tsx?$|\/testing\/|\/generated\//.test(file))
  // Its output is among the pages.
  .filter((file) => file !== 'scripts/generate-cli.ts');

/** Words that follow `baton` in texts but are not commands. */
const noCommands: Readonly<Record<string, RegExp>> = {
  'packages/identity/src/records/audit-chain/chain.ts': /^audit (?:link|removal|start) 1/,
  'packages/identity/src/records/audit-chain/record-mac.ts': /^audit record 1/,
  'packages/cli/src/completion.command.ts': /^-f -n/,
  // A form of `baton import`.
  'docs/import.md': /^FILE$/,
  'packages/coordination/src/ledger/sinks/nats-sink.ts': /^\$\{name\}/,
};

/** One mention of a command: its place, and the text after `baton` up to the end of the line. */
interface Mention {
  readonly place: string;
  readonly tail: string;
  /** Whether a reader can run it unchanged. If so, the test parses the whole command. */
  readonly isRun: boolean;
}

function mentionsIn(file: string, text: string, isRun: boolean, line = 1): Mention[] {
  const mention =
    /(?:(?<![\w./@$'{(-]|import )baton|(?<=[`'"(]|\$\()baton|\$\{invocation\(\)\}|npx baton) (?=[\w-])([^\n]*)/g;
  return [...text.matchAll(mention)].flatMap((found) => {
    const tail = found[1] ?? '';
    const place = `${file}:${line + text.slice(0, found.index).split('\n').length - 1}`;
    if (noCommands[file]?.test(tail)) return [];
    // One line can mention several commands.
    return [{ place, tail, isRun }, ...mentionsIn(file, tail, isRun).map((one) => ({ ...one, place }))];
  });
}

/** The shell blocks and the inline code of a page. */
function mentionsInPage(file: string): Mention[] {
  const text = readFileSync(join(repository, file), 'utf8');
  const blocks = [...text.matchAll(/^ *```(\w*).*\n([^]*?)^ *```/gm)].filter(
    ([, language]) => language !== 'sql',
  );
  const inBlocks = blocks.flatMap(({ 1: language = '', 2: block = '', index }) =>
    mentionsIn(
      file,
      block.replaceAll(/\\\n/g, ' '),
      ['sh', 'bash', 'console'].includes(language),
      text.slice(0, index).split('\n').length + 1,
    ),
  );
  const prose = text.replaceAll(/^ *```[^]*?^ *```/gm, (block) => block.replaceAll(/[^\n]/g, ''));
  const inProse = [...prose.matchAll(/`([^`]+)`/g)].flatMap(({ 1: code = '', index }) =>
    mentionsIn(file, code.replaceAll('\n', ' '), false, prose.slice(0, index).split('\n').length),
  );
  const inHeadings = [...prose.matchAll(/^#+ (.*)$/gm)]
    .flatMap(({ 1: heading = '', index }) =>
      mentionsIn(file, heading, false, prose.slice(0, index).split('\n').length),
    )
    .filter(({ tail }) => !tail.startsWith('works'));
  return [...inBlocks, ...inProse, ...inHeadings];
}

const output = { line: () => undefined, progress: () => undefined, isTerminal: false, columns: 80 };
const tree = () => buildProgram({ config: { home: undefined, environment: {} }, output });
const program = tree();
/** Programs with commands of their own. */
const services = ['identity', 'coordination'];
const programWords = otherPrograms.map(([command]) => command.replace(/ <.*/, '').split(' '));

/** The words of a shell up to the end of the command. */
function shellWords(tail: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote: string | undefined;
  for (let at = 0; at < tail.length; at += 1) {
    const sign = tail[at] as string;
    if (quote !== undefined) {
      if (sign === quote) quote = undefined;
      else word += sign;
    } else if (sign === "'" || sign === '"') {
      // An unclosed quote is part of the surrounding text.
      if (!tail.includes(sign, at + 1)) break;
      quote = sign;
      word ??= '';
    } else if (/[|;&)><`]/.test(sign) || (sign === '#' && word === undefined)) break;
    else if (/\s/.test(sign)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else word = `${word ?? ''}${sign}`;
  }
  return word === undefined ? words : [...words, word];
}

/** The words of a sentence: a command may be followed by other words. */
const proseWords = (tail: string) =>
  (/^(?:(?![.:!?](?:\s|$))[^`'"<)|;…\\])*/.exec(tail)?.[0] ?? '')
    .split(/\s+/)
    .map((word) => word.replace(/[.,:?!]+$/, ''));

/** Returns the fault of a mention; undefined for a valid one. */
async function faultOf({ tail, isRun }: Mention): Promise<string | undefined> {
  const { rest: words } = splitArgs(isRun ? shellWords(tail) : proseWords(tail), program);
  const [first = ''] = words;
  if (/^(?:COMMAND|WORD|…|\.\.\.)$/.test(first) || words.length === 0) return undefined;
  const other = programWords.find((one) => one.every((word, at) => words[at] === word));
  if (services.includes(first)) return faultOfProgram([first], words);
  if (other !== undefined) return faultOfProgram(other, words);
  if (first.startsWith('-')) return knownOption(program, first) ? undefined : `no option ${first}`;
  return isRun ? faultOfLine(words) : faultOfWords(words);
}

/** Follows the words down the tree while they are commands. */
function faultOfWords(words: readonly string[]): string | undefined {
  let command: Command = program;
  let at = 0;
  for (; at < words.length; at += 1) {
    const next = command.commands.find((child) => child.name() === words[at]);
    if (next === undefined) break;
    command = next;
  }
  if (command === program) return `no command ${words[0]}`;
  const isGroup = command.commands.length > 0 && command.options.length === 0;
  const rest = words.slice(at);
  if (isGroup && rest[0] !== undefined && /^[a-z]/.test(rest[0])) return `no command ${words[0]} ${rest[0]}`;
  const option = rest.find(
    (word) => word.startsWith('--') && !knownOption(command, word.split('=')[0] ?? ''),
  );
  return option === undefined ? undefined : `no option ${option}`;
}

function knownOption(command: Command, name: string): boolean {
  const own = command.options.some(({ long, short }) => [long, short].includes(name));
  const above = command.parent !== null && command.parent.options.some(({ long }) => long === name);
  return own || above || ['--help', '-h'].includes(name);
}

/** Parses a whole line, and runs nothing. */
async function faultOfLine(words: readonly string[]): Promise<string | undefined> {
  const parser = tree();
  for (const leaf of listLeafCommands(parser)) leaf.action(() => undefined);
  try {
    await parser.parseAsync([...words], { from: 'user' });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? undefined : error.message;
    if (error instanceof PlainError) return error.message;
    throw error;
  }
}

const helps = new Map<string, Promise<string>>();

/** The help of a separate program. */
function helpOf(words: readonly string[]): Promise<string> {
  const key = words.join(' ');
  const help =
    helps.get(key) ??
    promisify(execFile)(process.execPath, [join(repository, 'bin/baton.mjs'), ...words, '--help'], {
      timeout: 30_000,
    })
      .catch((error: unknown) => error)
      .then((said) => `${(said as { stdout: string }).stdout}${(said as { stderr: string }).stderr}`);
  helps.set(key, help);
  return help;
}

/** Checks a call of a separate program: its help lists the arguments after its name, and every option. */
async function faultOfProgram(
  name: readonly string[],
  words: readonly string[],
): Promise<string | undefined> {
  const isAudit = words.slice(0, 3).join(' ') === 'identity audit verify';
  const help = await helpOf(isAudit ? words.slice(0, 3) : name);
  const next = words[name.length];
  const isService = services.includes(name[0] ?? '');
  if (isService && !isAudit && next !== undefined && /^[a-z-]+$/.test(next) && !isListed(help, next))
    return `no command ${name.join(' ')} ${next}`;
  const option = words.find(
    (word) => word.startsWith('--') && word !== '--help' && !help.includes(word.split('=')[0] ?? ''),
  );
  return option === undefined ? undefined : `${name.join(' ')} has no option ${option}`;
}

const isListed = (help: string, word: string) => new RegExp(`^\\s+${word}\\b`, 'm').test(help);

test('every command in a page exists, and every shell line in it parses', async () => {
  const faults: string[] = [];
  let count = 0;
  for (const mention of pages.flatMap(mentionsInPage)) {
    count += 1;
    const fault = await faultOf(mention);
    if (fault !== undefined) faults.push(`${mention.place}: baton ${mention.tail}: ${fault}`);
  }
  assert.deepEqual(faults, []);
  assert.ok(count > 200, String(count));
});

test('the help lists every command as typed, with its groups', () => {
  for (const leaf of listLeafCommands(program)) {
    const words = formatCommand(leaf)
      .split(' ')
      .filter((word) => /[a-z]/.test(word));
    let command: Command | undefined = program;
    for (const word of words) command = command?.commands.find((child) => child.name() === word);
    assert.ok(command === leaf, formatCommand(leaf));
    if (leaf.parent !== null && leaf.parent !== program)
      assert.match(leaf.parent.helpInformation(), new RegExp(`^  ${formatCommand(leaf)}(?: |$)`, 'm'));
  }
});

test('every command in a message, a help text, the console or a comment exists', async () => {
  const faults: string[] = [];
  let count = 0;
  for (const file of sources)
    for (const mention of mentionsIn(file, readFileSync(join(repository, file), 'utf8'), false)) {
      count += 1;
      const fault = await faultOf(mention);
      if (fault !== undefined) faults.push(`${mention.place}: baton ${mention.tail}: ${fault}`);
    }
  assert.deepEqual(faults, []);
  assert.ok(count > 100, String(count));
});

test("no program and no page of the console recommends npx baton, which could be somebody else's package", () => {
  const shown = sources.filter((file) => /^packages\/[^/]+\/(?:src|web)\//.test(file));
  const faults = shown.filter((file) => {
    const text = readFileSync(join(repository, file), 'utf8').replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, '');
    return /npx baton/.test(text);
  });
  assert.deepEqual(faults, []);
});

test('every page with npx baton explains where that runs this Baton', () => {
  const where = /#where-npx-baton-works|elsewhere, npm runs another package/;
  const faults = pages.filter((page) => {
    const text = readFileSync(join(repository, page), 'utf8').replaceAll('\n', ' ');
    return /npx baton/.test(text) && !where.test(text) && !['CHANGELOG.md', 'docs/cli.md'].includes(page);
  });
  assert.deepEqual(faults, []);
  assert.match(readFileSync(join(repository, 'docs/cli.md'), 'utf8'), /^## Where npx baton works$/m);
});
