import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { TaskRef } from '../../work/tasks/task-ref.ts';
import { AsOf, Conditions, Direction } from '../gateway/conditions.ts';
import { KnownPack } from './context-pack.ts';

const name = z.string().min(1).max(100);
export const RecallRequest = z
  .strictObject({
    anchor: z.string().min(1).max(300).nullish(),
    query: z.string().min(1).max(2000).nullish(),
    kind: name.nullish(),
    kinds: z.array(name).max(20).default([]),
    relations: z.array(name).max(10).default([]),
    direction: Direction.default('both'),
    depth: z.int().min(1).max(5).default(1),
    limit: z.int().min(1).max(200).default(20),
    asOf: AsOf.nullish(),
    task: TaskRef.nullish(),
    workspaceId: Uuid.nullish(),
    budgetTokens: z.int().min(1).max(32_000).default(3000),
    where: Conditions.default([]),
  })
  .meta({ id: 'RecallRequest', description: 'By `anchor` or by `query`, for a task or a workspace.' });
export type RecallRequest = z.output<typeof RecallRequest>;

/** Knowledge found by one entity or by text. See docs/reference/memory.md#recall-and-packs. */
export const RecalledPack = z
  .strictObject({
    anchors: z.array(z.string()).meta({ description: 'The anchors of the lookup.' }),
    semantic: z.boolean().meta({ description: 'Whether the lookup was by a text.' }),
    asOf: Timestamp,
    namespaces: z.array(z.string()),
    warnings: z.array(z.string()),
    pack: KnownPack,
  })
  .meta({ id: 'RecalledPack' });
export type RecalledPack = z.infer<typeof RecalledPack>;
