import { matrixTests } from '@baton/kernel/testing/matrix';
import { matrixSetup } from '../testing/matrix-setup.ts';

matrixTests(matrixSetup);
