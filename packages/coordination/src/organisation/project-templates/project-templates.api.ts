import { idParams } from '@baton/values/keys';
import { pageOf, QueryWord } from '@baton/values/wire';
import { endpoint } from '../context.ts';
import { PackageFilter } from '../package-link.ts';
import { NewProjectTemplate, ProjectTemplate } from './project-template.ts';
import { projectTemplateCreated, projectTemplateDeprecated } from './project-templates.events.ts';
import {
  createProjectTemplate,
  deprecateProjectTemplate,
  getProjectTemplate,
  listProjectTemplates,
} from './project-templates.ts';

export const projectTemplatesApi = [
  endpoint({
    id: 'createProjectTemplate',
    method: 'POST',
    path: '/project-templates',
    summary: 'Create the next version of a project template.',
    description:
      'Versions never change. A template without a lifecycle gets the statuses planned, active, paused, completed ' +
      'and cancelled.',
    permission: 'project_templates.manage',
    body: NewProjectTemplate,
    returns: { 201: ProjectTemplate },
    errors: [
      'invalid_document',
      'payload_too_large',
      'payload_too_deep',
      'invalid_json_schema',
      'secret_material_rejected',
      'invalid_lifecycle_schema',
      'unknown_config_section',
      'invalid_config',
      'governance_not_in_settings',
      'instructions_too_large',
      'invalid_template',
      'unknown_governance_field',
      'invalid_governance',
    ],
    emits: [projectTemplateCreated],
    example: {
      key: 'launch',
      displayName: 'Product launch',
      fieldSchema: { properties: { market: { type: 'string', maxLength: 40 } } },
      defaultConfig: {
        settings: { language: 'en', agentInstructions: 'Write for people who have never seen the product.' },
        governance: { maxAutonomyLevel: 'assisted', maxRunActions: 200 },
        inheritance: { lockedSettings: ['language'] },
      },
    },
    handle: ({ body }, context) => createProjectTemplate(context, body),
  }),
  endpoint({
    id: 'listProjectTemplates',
    method: 'GET',
    path: '/project-templates',
    summary: 'List project templates, all versions, newest first.',
    permission: 'project_templates.read',
    query: { key: QueryWord.optional(), status: QueryWord.optional(), package: PackageFilter },
    paging: true,
    returns: { 200: pageOf(ProjectTemplate) },
    errors: ['invalid_status', 'invalid_cursor'],
    handle: ({ query, page }, context) => listProjectTemplates(context, query, page),
  }),
  endpoint({
    id: 'getProjectTemplate',
    method: 'GET',
    path: '/project-templates/{id}',
    summary: 'Read a version of a project template.',
    permission: 'project_templates.read',
    params: idParams,
    returns: { 200: ProjectTemplate },
    errors: ['not_found'],
    handle: ({ params }, context) => getProjectTemplate(context, params.id),
  }),
  endpoint({
    id: 'deprecateProjectTemplate',
    method: 'POST',
    path: '/project-templates/{id}:deprecate',
    summary: 'Deprecate a version of a project template; new projects can no longer use it.',
    description: 'Deprecating it again changes nothing.',
    permission: 'project_templates.manage',
    params: idParams,
    returns: { 200: ProjectTemplate },
    errors: ['not_found'],
    emits: [projectTemplateDeprecated],
    handle: ({ params }, context) => deprecateProjectTemplate(context, params.id),
  }),
];
