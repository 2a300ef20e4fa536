import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid, valuesByName } from '@baton/values/wire';
import { PackageLink } from '../../organisation/package-link.ts';
import type { Tables } from '../../service/schema.ts';
import { fieldTypes } from './field-values.ts';
import {
  FilterScalar,
  FilterValue,
  filterOperators,
  ParameterName,
  sourceNames,
  ViewBlock,
  type ViewSpec,
} from './view-spec.ts';

/** Per tenant. */
export const viewsMax = 1000;

export const ViewKey = z.string().regex(/^[a-z0-9][a-z0-9_-]{0,62}$/);

const head = {
  id: Uuid,
  tenantId: Uuid,
  key: z.string(),
  title: z.string(),
  version: z.int().positive(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  package: PackageLink.nullable(),
};

/** A view in a list; the title is in the requested language, if available (docs/reference/views-and-lists.md#views). */
export const ListedView = z.strictObject(head).meta({ id: 'ListedView' });
export type ListedView = z.infer<typeof ListedView>;

export const View = z
  .strictObject({
    ...head,
    titles: z.record(z.string(), z.string()).describe('By language.'),
    blocks: z.array(ViewBlock),
  })
  .meta({ id: 'View' });
export type View = z.infer<typeof View>;

const fieldName = z.string().min(1).max(64);

export const ViewQuery = z
  .strictObject({
    block: z.int().min(0).max(49),
    params: valuesByName(ParameterName, FilterScalar, 10).default({}),
    filter: z
      .array(
        z.strictObject({ field: fieldName, op: z.enum(filterOperators).default('eq'), value: FilterValue }),
      )
      .max(20)
      .default([]),
    sort: z
      .array(z.strictObject({ field: fieldName, direction: z.enum(['asc', 'desc']).optional() }))
      .max(5)
      .default([])
      .describe('Defaults to the first sort of the block, or newest first if it has none.'),
    limit: z.int().min(1).max(200).default(50),
    cursor: z.string().min(1).max(8000).nullish(),
    workspaceId: Uuid.nullish().describe(
      'Only rows of this workspace or its descendants; connections belong to the tenant.',
    ),
  })
  .meta({ id: 'ViewQuery' });
export type ViewQuery = z.output<typeof ViewQuery>;

const Cell = z.union([z.string(), z.number(), z.boolean(), z.null()]);

export const ViewRows = z
  .strictObject({
    view: z.string(),
    version: z.int().positive(),
    block: z.int(),
    source: z.enum(sourceNames),
    columns: z.array(
      z.strictObject({ field: z.string(), title: z.string().nullable(), type: z.enum(fieldTypes) }),
    ),
    items: z
      .array(z.record(z.string(), Cell))
      .describe('One object per row, with the fields of the columns.'),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'ViewRows' });
export type ViewRows = z.infer<typeof ViewRows>;

type StoredView = RowOf<
  Tables['views'],
  { spec: ViewSpec; titles: Record<string, string>; status: 'active' | 'retired' }
>;

export type ViewRow = Omit<StoredView, 'spec_hash' | 'created_by'> & { package: PackageLink | null };

export const viewOf = wireMapper<ViewRow>()(View, { blocks: ({ spec }) => spec.blocks });

/** The title is in the requested language. */
export type ListedViewRow = Omit<ViewRow, 'spec' | 'titles' | 'status'>;

export const listedViewOf = wireMapper<ListedViewRow>()(ListedView, {});
