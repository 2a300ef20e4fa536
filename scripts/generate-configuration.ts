import type { Setting, SettingTable } from '@baton/kernel/process/config';
import { settingTable as platformSettings } from '@baton/platform/config';
import { consoleServiceSettings } from '@baton/platform/console-service/settings';
import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `Settings are read from the environment when a process starts; a value that can't be used stops the start
with one sentence. Names are read in either case, an empty value is the default, and an unknown name is ignored. A value
marked *secret* is never printed.`;

const wholePurpose = `\`npm start\` runs everything behind one port. It reads these settings, and passes all settings of the services on; those that it
sets itself (databases, keys, secrets, addresses) can be overridden.`;

const consolePurpose = `\`baton console serve\` serves the console alone, and forwards the requests of its page to services that run elsewhere.`;

/** Lists every setting with its default, its unit and a sentence. */
export function writeConfiguration(services: readonly Service[]): GeneratedFile {
  const declaredByServices = new Set(services.flatMap(({ settings }) => Object.keys(settings)));
  const own = Object.entries(platformSettings).filter(([setting]) => !declaredByServices.has(setting));
  const sections = [
    section('the default run', wholePurpose, Object.fromEntries(own)),
    section('the console alone', consolePurpose, consoleServiceSettings),
    ...services.map(({ name, purpose, settings }) => section(name, purpose, settings)),
  ];
  return {
    path: 'docs/configuration.md',
    text: `${pageStart('the settings.ts files', 'Configuration', intro)}${sections.join('')}`,
  };
}

function section(name: string, purpose: string, settings: SettingTable): string {
  // Sorted by name, so that related settings are together even if they belong to different layers.
  const byName = Object.entries(settings).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const rows = byName.map(([setting, declared]) => [
    code(setting),
    kindOf(declared),
    defaultOf(declared),
    `${declared.doc}${aliasesOf(declared)}`,
  ]);
  return `\n## ${titleOf(name)}\n\n${purpose}\n\n${tableOf(['Setting', 'Form', 'Default', 'What it does'], rows)}`;
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
