import { z } from 'zod';
import { textsByName } from '@baton/values/wire';

/** The spec of a view in a package (docs/reference/views-and-lists.md#spec). */

export const sourceNames = [
  'tasks',
  'runs',
  'claims',
  'approvals',
  'projects',
  'goals',
  'processes',
  'agents',
  'connections',
  'invocations',
  'knowledge',
] as const;
export type SourceName = (typeof sourceNames)[number];

export const filterOperators = ['eq', 'in', 'gte', 'lte', 'prefix'] as const;
export type FilterOperator = (typeof filterOperators)[number];
export const aggregateFunctions = ['count', 'sum', 'avg', 'min', 'max'] as const;
/** The type of a parameter. The value of a `workspace` is the `workspaceId` of the query. */
export const parameterTypes = ['text', 'number', 'boolean', 'time', 'id', 'workspace'] as const;

/** The name of the column with an aggregate's result. */
export const valueColumn = 'value';
/** The maximum number of values of one `in`. */
export const listedValuesMax = 100;
const textCharactersMax = 500;

const Title = z.string().min(1).max(200);
const FieldName = z.string().min(1).max(64);
export const ParameterName = z.string().regex(/^[a-z][A-Za-z0-9]{0,62}$/);

export const FilterScalar = z.union([z.string().max(textCharactersMax), z.number(), z.boolean(), z.null()]);
export const FilterValue = z.union([FilterScalar, z.array(FilterScalar).min(1).max(listedValuesMax)]).meta({
  description: "A value of the field's type; a list for `in`; null with `eq` matches missing values.",
});
export type FilterValue = z.infer<typeof FilterValue>;

const Column = z
  .strictObject({ field: FieldName, title: Title.optional() })
  .meta({ id: 'ViewColumn', description: 'In a block with an aggregate: `groupBy`, or `value`.' });

const Filter = z
  .strictObject({
    field: FieldName,
    op: z.enum(filterOperators),
    value: z
      .union([FilterValue, z.strictObject({ param: ParameterName })])
      .optional()
      .describe('With a value or a parameter, the filter always applies; without one, a query may set it.'),
  })
  .meta({ id: 'ViewFilter' });
export type Filter = z.infer<typeof Filter>;

const Sort = z
  .strictObject({ field: FieldName, direction: z.enum(['asc', 'desc']) })
  .meta({ id: 'ViewSort' });
export type Sort = z.infer<typeof Sort>;

const Parameter = z
  .strictObject({
    name: ParameterName,
    type: z.enum(parameterTypes),
    default: FilterScalar.optional().describe('Without a default, each query must set a value.'),
  })
  .meta({ id: 'ViewParameter' });
export type Parameter = z.infer<typeof Parameter>;

export const ViewBlock = z
  .strictObject({
    title: Title,
    source: z.enum(sourceNames),
    columns: z.array(Column).min(1).max(30),
    filters: z.array(Filter).max(20).default([]),
    sorts: z
      .array(Sort)
      .max(5)
      .default([])
      .describe('The sort orders of queries; the first one is the default.'),
    groupBy: FieldName.optional(),
    aggregate: z.strictObject({ fn: z.enum(aggregateFunctions), field: FieldName.optional() }).optional(),
    params: z.array(Parameter).max(10).default([]),
  })
  .meta({ id: 'ViewBlock' });
export type ViewBlock = z.infer<typeof ViewBlock>;

export const localesMax = 50;
const Locale = z
  .string()
  .max(50)
  .regex(/^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,3}$/);

export const ViewSpec = z.strictObject({
  title: Title,
  titles: textsByName(Locale, Title, localesMax).default({}),
  blocks: z.array(ViewBlock).min(1).max(50),
});
export type ViewSpec = z.infer<typeof ViewSpec>;
