"""Documents that the tests of `spec` read: small ones that are not the built-in ones."""

import json
from pathlib import Path
from typing import Any

import yaml

PETS = """\
openapi: 3.0.3
info: {title: Pets, version: 1.0.0}
servers:
  - url: https://pets.example/api/v2/
security:
  - key: []
paths:
  /pets:
    get:
      operationId: listPets
      summary: List pets
      parameters:
        - {name: limit, in: query, schema: {type: integer, minimum: 1, maximum: 100, default: 20}}
        - {name: Accept, in: header, schema: {type: string}}
      responses:
        200:
          description: The pets.
          headers:
            x-next: {$ref: '#/components/headers/x-next'}
          content:
            application/json:
              schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}
              example: [{id: 1, name: Rex, kind: dog, tag: null}]
        default: {$ref: '#/components/responses/Failure'}
    post:
      operationId: createPet
      security: [{key: []}, {}]
      requestBody: {$ref: '#/components/requestBodies/NewPet'}
      responses:
        '201':
          description: Made
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
        4XX: {$ref: '#/components/responses/Failure'}
  /pets/mine:
    get:
      operationId: myPet
      security: []
      responses:
        '200':
          description: Mine
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
        default: {$ref: '#/components/responses/Failure'}
  /pets/{pet_id}:
    parameters:
      - {name: pet_id, in: path, required: true, schema: {type: integer}}
      - {name: lang, in: query, schema: {type: string}}
    get:
      operationId: readPet
      parameters:
        - {name: lang, in: query, required: true, schema: {enum: [de, en]}}
      responses:
        '200':
          description: A pet.
          content:
            application/json:
              schema: {$ref: '#/components/schemas/Pet'}
              examples:
                Rex: {$ref: '#/components/examples/Rex'}
        default: {$ref: '#/components/responses/Failure'}
components:
  schemas:
    Pet:
      type: object
      required: [name]
      properties:
        id: {type: integer}
        name: {type: string, minLength: 1}
        kind: {enum: [dog, cat]}
        tag: {type: string, nullable: true}
        born: {type: string, default: 2020-01-01}
        weight: {type: number, minimum: 0, exclusiveMinimum: true}
    Failure:
      type: object
      properties: {message: {type: string}}
  headers:
    x-next: {description: The next page., required: true, schema: {type: string}, example: /p/2}
  examples:
    Rex: {summary: A dog, value: {id: 1, name: Rex}}
  requestBodies:
    NewPet:
      required: true
      content:
        application/json:
          schema: {$ref: '#/components/schemas/Pet'}
  responses:
    Failure:
      description: It failed.
      content: {application/json: {schema: {$ref: '#/components/schemas/Failure'}}}
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
"""


def pets() -> dict[str, Any]:
    """A user's own document, OpenAPI 3.0, that knows nothing of this project."""
    document: dict[str, Any] = json.loads(json.dumps(yaml.safe_load(PETS), default=str))
    return document


def write(folder: Path, name: str, content: str | dict[str, Any]) -> Path:
    """Write a document (a mapping as JSON, which is YAML too) and return its path."""
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content, indent=2)
    path.write_text(text, encoding="utf-8")
    return path


def minimal(**parts: Any) -> dict[str, Any]:
    """The smallest document that loads, with more or other parts."""
    answer = {"200": {"description": "Fine"}}
    get = {"operationId": "a", "responses": answer}
    return {
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "paths": {"/a": {"get": get}},
        **parts,
    }


def with_schema(schema: Any, **components: Any) -> dict[str, Any]:
    """A document whose one component schema is `Subject`."""
    return minimal(components={"schemas": {"Subject": schema, **components}})
