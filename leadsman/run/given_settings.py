"""Reads settings from flags, variables and a file. Most commands get none, and do not import this."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict
from pydantic_settings import SettingsError as UnreadableVariable

from common.settings import SettingsError
from leadsman.run.settings import DELIMITER, PREFIX, Settings

_FROM_FILE: Final[dict[str, Any]] = {}
"""Values of the YAML file that is currently read."""


def read(from_file: Mapping[str, Any], flags: Mapping[str, Any]) -> Settings:
    """Return the settings: for each, the value of a flag, else the environment, else the file.

    Raises ValidationError, and SettingsError for a variable that is not JSON.
    """
    _FROM_FILE.update(from_file)
    try:
        given = _Given(**flags)
    except UnreadableVariable:
        raise SettingsError(
            f'cannot use the settings: in the environment ({PREFIX}...) a list is JSON, such as ["a", "b"]'
        ) from None
    finally:
        _FROM_FILE.clear()
    values = {name: getattr(given, name) for name in Settings.model_fields}
    return Settings.model_construct(_fields_set=given.model_fields_set, **values)


class _Given(Settings, BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter=DELIMITER, env_ignore_empty=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        del settings_cls, dotenv_settings, file_secret_settings
        return (init_settings, env_settings, InitSettingsSource(cls, dict(_FROM_FILE)))
