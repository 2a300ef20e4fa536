import {
  type Attribute,
  attribute,
  complex,
  plural,
  type ResourceKind,
  readOnly,
  reference,
  type Schema,
} from './attributes.ts';

/**
 * The attributes that SCIM stores (RFC 7643, sections 4.1 to 4.3), described once: reading bodies, filters, sorting,
 * PATCH, attribute selection and `/Schemas` all follow these tables.
 */

export const userUrn = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupUrn = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

const places = ['work', 'home', 'other'];

const userSchema: Schema = {
  urn: userUrn,
  name: 'User',
  description: 'User Account',
  attributes: [
    attribute('userName', 'The name a person signs in with at the directory.', {
      required: true,
      uniqueness: 'server',
    }),
    complex('name', "The parts of the person's name.", [
      attribute('formatted', 'The whole name.'),
      attribute('familyName', 'The family name.'),
      attribute('givenName', 'The given name.'),
      attribute('middleName', 'The middle name.'),
      attribute('honorificPrefix', 'The titles before the name.'),
      attribute('honorificSuffix', 'The suffixes after the name.'),
    ]),
    attribute('displayName', 'The name that is shown.'),
    attribute('nickName', 'The casual name.'),
    attribute('profileUrl', 'The page of the person.', reference(['external'])),
    attribute('title', 'The title of the position.'),
    attribute('userType', 'The relation to the organisation.'),
    attribute('preferredLanguage', 'The preferred language.'),
    attribute('locale', 'The locale of numbers and dates.'),
    attribute('timezone', 'The time zone.'),
    attribute('active', 'Whether the person is active.', { type: 'boolean' }),
    attribute('password', 'Accepted and dropped.', {
      caseExact: true,
      mutability: 'writeOnly',
      returned: 'never',
    }),
    plural('emails', 'Addresses of electronic mail.', places),
    plural('phoneNumbers', 'Telephone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
    plural('ims', 'Addresses of instant messages.', []),
    plural('photos', 'Pictures.', ['photo', 'thumbnail'], reference(['external'])),
    {
      ...complex('addresses', 'Postal addresses.', [
        attribute('formatted', 'The whole address.'),
        attribute('streetAddress', 'Street and number.'),
        attribute('locality', 'The city.'),
        attribute('region', 'The state or region.'),
        attribute('postalCode', 'The postal code.'),
        attribute('country', 'The country.'),
        attribute('type', 'The purpose of the element.', { canonicalValues: places }),
        attribute('primary', 'Whether it is the preferred one; at most one is.', { type: 'boolean' }),
      ]),
      multiValued: true,
    },
    {
      ...complex('groups', 'The groups of the person. Change the groups instead.', [
        attribute('value', 'The id of the group.', { caseExact: true, ...readOnly }),
        attribute('$ref', 'The address of the group.', reference(['Group'], readOnly)),
        attribute('display', 'The name of the group.', readOnly),
        attribute('type', 'The kind of membership.', { canonicalValues: ['direct'], ...readOnly }),
      ]),
      multiValued: true,
      ...readOnly,
    },
    plural('entitlements', 'The entitlements of the person at the directory.', []),
    plural('roles', 'The roles at the directory.', []),
    plural('x509Certificates', 'Certificates.', [], { type: 'binary', caseExact: true }),
  ],
};

const enterpriseSchema: Schema = {
  urn: enterpriseUrn,
  name: 'EnterpriseUser',
  description: 'Enterprise User',
  attributes: [
    attribute('employeeNumber', 'The number of the employee.'),
    attribute('costCenter', 'The cost center.'),
    attribute('organization', 'The organization.'),
    attribute('division', 'The division.'),
    attribute('department', 'The department.'),
    complex('manager', 'The manager of the person.', [
      attribute('value', 'The id of the manager.', { caseExact: true }),
      attribute('$ref', 'The address of the manager.', reference(['User'])),
      attribute('displayName', 'The name of the manager.', readOnly),
    ]),
  ],
};

const groupSchema: Schema = {
  urn: groupUrn,
  name: 'Group',
  description: 'Group',
  attributes: [
    attribute('displayName', 'The name of the group.', { required: true, uniqueness: 'server' }),
    {
      ...complex('members', 'The members.', [
        attribute('value', 'The id of the user.', { caseExact: true, mutability: 'immutable' }),
        attribute('$ref', 'The address of the user.', reference(['User'], { mutability: 'immutable' })),
        attribute('display', 'The name of the user.', readOnly),
        attribute('type', 'The kind of member.', { canonicalValues: ['User'], mutability: 'immutable' }),
      ]),
      multiValued: true,
    },
  ],
};

/** The common attributes of resources (RFC 7643, section 3.1), which no schema lists. */
export const commonAttributes: readonly Attribute[] = [
  attribute('id', 'The identifier.', { caseExact: true, returned: 'always', ...readOnly }),
  attribute('externalId', "The directory's identifier.", { caseExact: true }),
  attribute('schemas', 'The schemas of the resource.', {
    ...reference([]),
    multiValued: true,
    returned: 'always',
  }),
  {
    ...complex('meta', 'About the resource.', [
      attribute('resourceType', 'The kind of resource.', { caseExact: true, ...readOnly }),
      attribute('created', 'When it was created.', { type: 'dateTime', ...readOnly }),
      attribute('lastModified', 'The time of the last change.', { type: 'dateTime', ...readOnly }),
      attribute('location', 'Its address.', reference([], readOnly)),
      attribute('version', 'Its version.', { caseExact: true, ...readOnly }),
    ]),
    ...readOnly,
  },
];

export const userKind: ResourceKind = {
  name: 'User',
  endpoint: '/Users',
  core: userSchema,
  extensions: [enterpriseSchema],
};
export const groupKind: ResourceKind = {
  name: 'Group',
  endpoint: '/Groups',
  core: groupSchema,
  extensions: [],
};
export const schemas: readonly Schema[] = [userSchema, groupSchema, enterpriseSchema];
