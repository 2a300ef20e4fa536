import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { JsonObject } from '@baton/values/wire';
import { eventCatalog } from './event-catalog.ts';
import type { EventTypePage } from './event-type.ts';

interface DescribedCatalog {
  readonly page: z.output<typeof EventTypePage>;
  /** `"event-types-<sha256>"`: the same in every process with the same catalog. */
  readonly tag: string;
}

let described: DescribedCatalog | undefined;

/** The whole catalog on one page, generated once per process. */
export function describeCatalog(): DescribedCatalog {
  described ??= describe();
  return described;
}

function describe(): DescribedCatalog {
  const items = [...eventCatalog.values()].map(({ type, version, entity, payload }) => ({
    type,
    version,
    entityType: entity,
    payloadSchema: allowFurtherFields(
      z.toJSONSchema(payload, { io: 'input', unrepresentable: 'any' }),
    ) as JsonObject,
  }));
  const hash = createHash('sha256').update(JSON.stringify(items)).digest('hex');
  return { page: { items, nextCursor: null }, tag: `"event-types-${hash}"` };
}

/**
 * Returns the published form of a schema, which allows unknown fields. Internally every field must be declared, but a
 * consumer that refuses unknown fields would fail at the next field that is added.
 */
export function allowFurtherFields(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(allowFurtherFields);
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema)
      .filter(([name, value]) => !(name === 'additionalProperties' && value === false))
      .map(([name, value]) => [name, allowFurtherFields(value)]),
  );
}
