import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/row';
import { Timestamp, Uuid, valuesByName } from '@baton/kernel/wire';
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

/** Of one tenant. */
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

/** A view in a list; its title is in the language that was asked for, where it has that one (organisation, section 14.4). */
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
      .describe('Without one, by the first sort of the block, else newest first.'),
    limit: z.int().min(1).max(200).default(50),
    cursor: z.string().min(1).max(8000).nullish(),
    workspaceId: Uuid.nullish().describe(
      'Only what is filed in it or below; connections belong to the tenant.',
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
    items: z.array(z.record(z.string(), Cell)).describe('By the fields of the columns.'),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'ViewRows' });
export type ViewRows = z.infer<typeof ViewRows>;

export type ViewRow = RowOf<Tables['views'], { spec: ViewSpec; status: 'active' | 'retired' }> & {
  package: PackageLink | null;
};

export const viewOf = wireMapper<ViewRow>()(View, {
  title: ({ spec }) => spec.title,
  titles: ({ spec }) => spec.titles,
  blocks: ({ spec }) => spec.blocks,
});

/** A row of a list has the titles of its spec only. */
export type ListedViewRow = Omit<ViewRow, 'spec' | 'spec_hash' | 'status' | 'created_by'> &
  Pick<ViewSpec, 'title' | 'titles'>;

/** @param locale a language; a title of its first part serves, too */
export function listedViewOf(row: ListedViewRow, locale: string | undefined): ListedView {
  return { ...listedOf(row), title: titleIn(row, locale) };
}

const listedOf = wireMapper<ListedViewRow>()(ListedView, {});

function titleIn({ title, titles }: ListedViewRow, locale = ''): string {
  const byName = new Map(Object.entries(titles).map(([name, text]) => [name.toLowerCase(), text]));
  const asked = locale.toLowerCase();
  return byName.get(asked) ?? byName.get(asked.split('-')[0] as string) ?? title;
}
