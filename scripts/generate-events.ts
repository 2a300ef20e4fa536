import { globSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { EventDeclaration } from '@baton/kernel/http/service';
import type { GeneratedFile } from './generated-file.ts';
import { code, pageStart, tableOf, titleOf } from './markdown.ts';
import type { Service } from './services.ts';

const intro = `Every change writes its events to the journal in the same transaction. A type and its version define the
payload: fields may be added, and a change of meaning is a new version. The worker or a command writes the events without a
call in the last column. Calls have their names of the API description (\`/docs\`); \`?\` marks a field that may be absent.`;

/** Writes the page of all event types, each with its version, its payload and the calls that write it. */
export async function writeEvents(root: string, services: readonly Service[]): Promise<GeneratedFile> {
  const sections: string[] = [];
  for (const service of services) {
    const rows = (await declaredEvents(root, service)).map((event) => [
      code(event.type),
      `${event.version}`,
      event.entity,
      payloadText(event.payload),
      service.endpoints
        .filter(({ emits }) => emits.some(({ type }) => type === event.type))
        .map(({ id }) => code(id))
        .join(', '),
    ]);
    const head = ['Type', 'Version', 'About a', 'Payload', 'Written by'];
    sections.push(`\n## ${titleOf(service.name)}\n\n${tableOf(head, rows)}`);
  }
  return { path: 'docs/events.md', text: `${pageStart('*.events.ts', 'Events', intro)}${sections.join('')}` };
}

/** Returns the events of the endpoints, and those of the worker, which the `*.events.ts` files declare. */
async function declaredEvents(root: string, { name, endpoints }: Service): Promise<EventDeclaration[]> {
  const files = globSync(`packages/${name}/src/**/*.events.ts`, { cwd: root });
  const modules = await Promise.all(files.map((file) => import(join(root, file)) as Promise<object>));
  // Some files export their events one by one, others export a record of them.
  const exported = modules
    .flatMap((module) => Object.values(module) as unknown[])
    .flatMap((value) => (isEvent(value) ? [value] : Object.values(value ?? {}).filter(isEvent)));
  const all = [...endpoints.flatMap(({ emits }) => emits), ...exported];
  const byType = new Map(all.map((event) => [event.type, event]));
  return [...byType.values()].sort((left, right) => (left.type < right.type ? -1 : 1));
}

function isEvent(value: unknown): value is EventDeclaration {
  return (
    typeof value === 'object' && value !== null && 'type' in value && 'payload' in value && 'entity' in value
  );
}

/** `taskId` uuid, `reason`? string */
function payloadText(payload: z.ZodType): string {
  const schema = z.toJSONSchema(payload, { io: 'output', unrepresentable: 'any' }) as JsonSchema;
  const required = new Set(schema.required);
  return Object.entries(schema.properties ?? {})
    .map(([name, property]) => `${code(name)}${required.has(name) ? '' : '?'} ${typeText(property)}`)
    .join(', ');
}

interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  items?: JsonSchema;
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
}

function typeText(schema: JsonSchema): string {
  if (schema.$ref !== undefined) return formName(schema.$ref.split('/').at(-1) ?? '');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeText).join(' or ');
  if (schema.const !== undefined) return code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) return schema.enum.map((value) => code(String(value))).join('/');
  if (schema.type === 'array') return `list of ${typeText(schema.items ?? {})}`;
  return schema.format ?? [schema.type ?? 'anything'].flat().join(' or ');
}

/** Well-known forms have their usual name; others have their name in the API description. */
function formName(name: string): string {
  return { Uuid: 'uuid', Timestamp: 'date-time' }[name] ?? name;
}
