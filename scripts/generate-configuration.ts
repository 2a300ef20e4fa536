import type { Setting } from '@baton/kernel/config';
import type { GeneratedFile } from './generate.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `Settings are read from the environment when a process starts; a value that can't be used stops the start
with one sentence. Names are read in either case, an empty value is the default, and an unknown name is ignored. A value
marked *secret* is never printed.`;

/** Every setting with its default, its unit and a sentence. */
export function writeConfiguration(services: readonly Service[]): GeneratedFile {
  const sections = services.map(({ name, purpose, settings }) => {
    const rows = Object.entries(settings).map(([setting, declared]) => [
      code(setting),
      kindOf(declared),
      defaultOf(declared),
      `${declared.doc}${aliasesOf(declared)}`,
    ]);
    return `\n## ${titleOf(name)}\n\n${purpose}\n\n${tableOf(['Setting', 'Form', 'Default', 'What it does'], rows)}`;
  });
  return {
    path: 'docs/configuration.md',
    text: `${pageStart('config.ts', 'Configuration', intro)}${sections.join('')}`,
  };
}

function kindOf({ kind, unit, secret }: Setting<unknown>): string {
  return `${kind}${unit === undefined ? '' : `, ${unit}`}${secret ? ', *secret*' : ''}`;
}

function defaultOf({ default: value, secret }: Setting<unknown>): string {
  if (value === undefined || value === '') return 'unset';
  if (secret && typeof value === 'string') return code(value.replace(/:\/\/.*@/, '://…@'));
  return code(typeof value === 'string' ? value : JSON.stringify(value));
}

function aliasesOf({ aliases = [] }: Setting<unknown>): string {
  return aliases.length === 0 ? '' : ` Also read as ${aliases.map(code).join(', ')}.`;
}
