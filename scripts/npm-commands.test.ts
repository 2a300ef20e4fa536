import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pickFiles, testFiles } from './test-files.ts';
import { parseOptions } from './test-options.ts';

// The commands of npm and of bin/run.mjs in pages. packages/cli/src/commands-in-texts.test.ts checks those of Baton.

const root = dirname(import.meta.dirname);
const pages = globSync(['*.md', 'docs/**/*.md', 'packages/**/*.md', 'examples/**/*.md'], {
  cwd: root,
  exclude: ['**/node_modules/**', '**/dist/**'],
}).sort();
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  scripts: Readonly<Record<string, string>>;
};

/**
 * Returns the commands that start with `npm` or `node bin/run.mjs` in the shell blocks and the inline code of a page.
 */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/^ *```sh.*\n([^]*?)^ *```/gm)].flatMap(([, block = '']) =>
    block.split('\n'),
  );
  const prose = text.replaceAll(/^ *```[^]*?^ *```/gm, '');
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
  return [...blocks, ...inline]
    .map((line) => line.replace(/ #.*$/, '').trim())
    .filter((line) => /^(?:npm|node bin\/run\.mjs) /.test(line));
}

/** Returns the fault in a command; undefined for a valid one. */
function faultOf(command: string): string | undefined {
  const [program, ...words] = command.split(/\s+/).filter((word) => word !== '--' && word !== '...');
  if (program === 'node') return existsSync(join(root, words[1] ?? '')) ? undefined : `no file ${words[1]}`;
  const [verb = '', ...rest] = words;
  // npm itself validates the arguments of its other commands.
  if (!['run', 'start', 'test'].includes(verb)) return undefined;
  const [name = '', ...args] = verb === 'run' ? rest : [verb, ...rest];
  if (!Object.hasOwn(scripts, name)) return `no script ${name}`;
  if (name === 'test' || name === 'proof') return faultOfTests(args);
  return name === 'bench' ? faultOfBench(args) : undefined;
}

function faultOfTests(args: readonly string[]): string | undefined {
  try {
    const { patterns, depth, isMerge } = parseOptions(args);
    // With `--merge`, the patterns are folders of records, not test files.
    if (isMerge) return undefined;
    const unmatched = patterns.find((pattern) => pickFiles(testFiles(root), [pattern], depth).length === 0);
    return unmatched === undefined ? undefined : `no test file matches ${unmatched}`;
  } catch (error) {
    return (error as Error).message;
  }
}

function faultOfBench([name = '']: readonly string[]): string | undefined {
  return existsSync(join(root, 'bench', name, `${name}.bench.ts`)) ? undefined : `no benchmark ${name}`;
}

test('every npm script, test pattern and benchmark in a page exists', () => {
  const commands = pages.flatMap((page) =>
    commandsOf(readFileSync(join(root, page), 'utf8')).map((command) => ({ page, command })),
  );
  const faults = commands.flatMap(({ page, command }) => {
    const fault = faultOf(command);
    return fault === undefined ? [] : [`${page}: ${command}: ${fault}`];
  });
  assert.deepEqual(faults, []);
  assert.ok(commands.length > 40, String(commands.length));
});

test('a command that does not exist is found', () => {
  const page = 'Run `npm run zebra`.\n\n```sh\nnpm test -- zebra/stripes   # all of them\n```\n';
  assert.deepEqual(commandsOf(page), ['npm test -- zebra/stripes', 'npm run zebra']);
  for (const [command, fault] of [
    ['npm run zebra', 'no script zebra'],
    ['npm test -- zebra/stripes', 'no test file matches zebra/stripes'],
    ['npm run bench -- zebra', 'no benchmark zebra'],
    ['node bin/run.mjs examples/zebra/run.ts', 'no file examples/zebra/run.ts'],
  ] as const)
    assert.equal(faultOf(command), fault);
  assert.match(faultOf('npm run proof -- --shrad=1/4') ?? '', /Unknown option '--shrad'/);
});
